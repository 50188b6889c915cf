//! Many conversations at once, in process: the real store and files, with a model that counts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use atlas_adapters::memory_fs::DiskFiles;
use atlas_adapters::store::SqliteStore;
use atlas_core::access::Limits;
use atlas_core::bot::Bot;
use atlas_core::conversation::Conversations;
use atlas_core::conversation::kept::Kept;
use atlas_core::courier::Courier;
use atlas_core::engine::{Engine, Serves};
use atlas_core::event::{Addressed, ChatKind, Envelope, Event, Inbound, Sender};
use atlas_core::home::Home;
use atlas_core::ids::{AccountId, HolderId, Person, PlatformChat, PlatformMessage};
use atlas_core::intake::Intake;
use atlas_core::ports::{
    Answer as Said, Delta, ModelClient, ModelError, ModelInfo, ModelRequest, Outgoing, Platform,
    Presence, Store, SystemClock,
};
use atlas_core::router::{Allow, Answer, Route, Router};
use atlas_core::testing::{EchoModel, RecordingPlatform};
use atlas_core::tools::Toolbox;
use atlas_core::turn::learned::Learned;
use atlas_core::worker::Bells;
use chrono::DateTime;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;

/// Conversations with a message that waits when the process starts.
const MANY: i64 = 600;

struct Me(HolderId);

impl Presence for Me {
    fn me(&self) -> &HolderId {
        &self.0
    }

    fn alive(&self, _: &HolderId) -> bool {
        true
    }
}

/// Answers a little later, and remembers how many asked at once.
struct Counting {
    inner: EchoModel,
    now: AtomicUsize,
    most: AtomicUsize,
}

#[async_trait]
impl ModelClient for Counting {
    fn info(&self) -> &ModelInfo {
        self.inner.info()
    }

    async fn ask(
        &self,
        request: &ModelRequest,
        deltas: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Said, ModelError> {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(20)).await;
        let said = self.inner.ask(request, deltas).await;
        self.now.fetch_sub(1, Ordering::SeqCst);
        said
    }
}

/// An engine in this folder with a bot of this model, and what it sends. `around` dresses its store.
pub(crate) async fn engine(
    folder: &Path,
    model: Arc<dyn ModelClient>,
    around: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>,
) -> (Arc<Engine>, UnboundedReceiver<Outgoing>) {
    let store = SqliteStore::open(&folder.join("atlas.db")).await.expect("a database");
    let store = around(Arc::new(store));
    let ids = store.take_up_bots(&["atlas".into()], DateTime::UNIX_EPOCH).await.expect("a bot");
    let bot =
        Bot { id: ids[0].1, name: "atlas".into(), shown: "Atlas".into(), model: "default".into() };
    let route = Route {
        account: "rec".into(),
        chat: None,
        bot: bot.name.clone(),
        answer: Answer::Mentioned,
        memory: None,
        allow: Allow::Everybody,
        bots: Allow::Nobody,
    };
    let home = Home {
        zone: chrono_tz::Tz::UTC,
        bots: vec![bot],
        models: [("default".into(), model)].into(),
        fallback: BTreeMap::new(),
        router: Router::new(vec![route]),
        owners: BTreeSet::new(),
        deciders: BTreeSet::new(),
        limits: Limits::default(),
        join_direct: true,
        compact_at: None,
        patience: Duration::from_secs(900),
        memory_notice: true,
    };
    let (platform, sent) = RecordingPlatform::new("rec");
    let platform: Arc<dyn Platform> = Arc::new(platform);
    let engine = Engine {
        store,
        clock: Arc::new(SystemClock),
        presence: Arc::new(Me("crowd".into())),
        files: Arc::new(DiskFiles::new(folder.to_path_buf())),
        platforms: [(AccountId::from("rec"), platform)].into(),
        tools: Toolbox::new(Vec::new()),
        home: watch::channel(Arc::new(home)).1,
        serves: Serves::Home,
        bells: Arc::new(Bells::default()),
        kept: Kept::default(),
        learned: Learned::default(),
    };
    (Arc::new(engine), sent)
}

/// The `nth` message of whoever writes in this chat.
pub(crate) fn event(chat: i64, nth: i64) -> Envelope {
    let person = Person { platform: "recording".into(), id: chat.to_string().into() };
    let inbound = Inbound {
        lineage: vec![PlatformChat(chat.to_string())],
        kind: ChatKind::Direct,
        chat_name: None,
        message: PlatformMessage(nth.to_string()),
        order: nth,
        sender: Sender { person: Some(person), name: "Ana".into(), is_bot: false },
        text: "hello".into(),
        outside: false,
        files: Vec::new(),
        addressed: Addressed::Directly,
        command: None,
        sent_at: DateTime::UNIX_EPOCH,
    };
    Envelope {
        account: "rec".into(),
        platform: "recording".into(),
        key: format!("{chat}/{nth}"),
        raw: "{}".to_owned(),
        event: Event::Message(inbound),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::disallowed_methods, reason = "the test starts what the gateway would")]
async fn a_start_with_very_many_open_conversations_takes_up_a_bounded_number_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = Arc::new(Counting {
        inner: EchoModel::new("default", "Yes."),
        now: AtomicUsize::new(0),
        most: AtomicUsize::new(0),
    });
    let (engine, mut sent) = engine(folder.path(), model.clone(), |store| store).await;
    let events: Vec<Envelope> = (0..MANY).map(|chat| event(chat, 1)).collect();
    Intake::new(engine.clone()).accept(events).await.expect("stored");
    let (stop, stopped) = watch::channel(false);
    let (conversations, courier) = (Conversations::new(engine.clone()), Courier::new(engine));
    let stopped_too = stopped.clone();
    let turns = tokio::spawn(async move { conversations.run(stopped).await });
    let out = tokio::spawn(async move { courier.run(stopped_too).await });
    let mut answered = BTreeSet::new();
    while answered.len() < usize::try_from(MANY).expect("a number") {
        answered.insert(sent.recv().await.expect("an answer").to.chat);
    }
    stop.send_replace(true);
    turns.await.expect("turns end");
    out.await.expect("the courier ends");
    let most = model.most.load(Ordering::SeqCst);
    assert!((2..=256).contains(&most), "{most} at once");
}
