//! What comes in the moments in which an actor cannot look: in process, with a store that stops there and
//! lets nobody sweep twice, so that no sweep makes good what a bell has missed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use atlas_core::conversation::Conversations;
use atlas_core::courier::Courier;
use atlas_core::engine::Engine;
use atlas_core::intake::Intake;
use atlas_core::ports::Accepted;
use atlas_core::testing::EchoModel;
use atlas_tests::faults::PlannedStore;
use futures_util::FutureExt;
use tokio::sync::watch;

use crate::crowd::{engine, event};

/// A second message is stored, and its actor hears of it.
async fn second(engine: &Engine, intake: Intake) {
    let accepted = intake.accept(vec![event(5, 2)]).await.expect("stored");
    let [Accepted::Stored { conversation: Some(id), .. }] = accepted[..] else {
        panic!("{accepted:?}");
    };
    engine.bells.conversation(id).notified().await;
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the test starts what the gateway would")]
async fn what_comes_while_a_conversation_is_claimed_is_answered_without_a_sweep() {
    let folder = tempfile::tempdir().expect("a folder");
    let built: Arc<OnceLock<Arc<Engine>>> = Arc::default();
    let (its, claimed, swept) = (built.clone(), AtomicBool::new(false), AtomicBool::new(false));
    let behind = move |name: &str| {
        let first = name == "claim" && !claimed.swap(true, Ordering::SeqCst);
        let again = name == "open_work" && swept.swap(true, Ordering::SeqCst);
        let engine = its.get().filter(|_| first).cloned();
        async move {
            if again {
                std::future::pending::<()>().await;
            }
            if let Some(engine) = engine {
                // Behind the look that comes with the claim, and before anybody works with it.
                second(&engine, Intake::new(engine.clone())).await;
            }
        }
        .boxed()
    };
    let model = Arc::new(EchoModel::new("default", "Yes."));
    let dressed = |store| Arc::new(PlannedStore::with(store, behind)) as _;
    let (engine, mut sent) = engine(folder.path(), model, dressed).await;
    assert!(built.set(engine.clone()).is_ok());
    Intake::new(engine.clone()).accept(vec![event(5, 1)]).await.expect("stored");
    // The sweep at the start finds it: the first ring is for the second.
    assert_eq!(engine.bells.calls().len(), 1);
    let (_stop, stopped) = watch::channel(false);
    let (conversations, courier) = (Conversations::new(engine.clone()), Courier::new(engine));
    let stopped_too = stopped.clone();
    let turns = tokio::spawn(async move { conversations.run(stopped).await });
    let out = tokio::spawn(async move { courier.run(stopped_too).await });
    for nth in ["first", "second"] {
        let answer = tokio::time::timeout(Duration::from_secs(20), sent.recv()).await;
        assert!(matches!(answer, Ok(Some(_))), "the {nth} message waits for the next sweep");
    }
    turns.abort();
    out.abort();
}
