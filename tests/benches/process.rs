//! The executable as a whole, on a home with a million messages: how long from the start until the
//! intake is open, and what memory it holds when it does nothing. The figures go into
//! `docs/performance.md`.
//!
//! Measures `target/dist/atlas` (`just bench` builds it) or the executable that `ATLAS_BIN` names.
//! `ATLAS_BENCH_MESSAGES` sets another number of messages.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark stops where it cannot measure"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use atlas_adapters::store::SqliteStore;
use atlas_core::access::Standing;
use atlas_core::audience::Audience;
use atlas_core::event::{Addressed, ChatKind, Inbound, Sender};
use atlas_core::ids::{ChatKey, ConversationId, PlatformMessage, Seq};
use atlas_core::message::Body;
use atlas_core::ports::{
    Accepted, ConversationKey, ConversationSpec, Cut, Disposition, Door, NewInbox, NewTurn, Opened,
    StepCommit, Store, TurnEnd, TurnNotes,
};
use atlas_tests::bell::Bell;
use atlas_tests::process::{Process, until};
use atlas_tests::telegram::Telegram;
use chrono::DateTime;
use tokio::runtime::Runtime;

/// Starts of which the median is told.
const STARTS: usize = 11;

/// Conversations that the messages are spread over.
const CONVERSATIONS: usize = 10;

/// Messages of an episode.
const EPISODE: usize = 400;

/// How long a process is left alone before its memory is read.
const IDLE: Duration = Duration::from_secs(5);

fn main() {
    let atlas = executable();
    let messages = number("ATLAS_BENCH_MESSAGES", 1_000_000);
    let bell = Bell::new();
    let telegram = Telegram::start(&bell);
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path().join("home");
    configure(&atlas, &home, &telegram);
    let begun = Instant::now();
    Runtime::new().expect("a runtime").block_on(fill(&home.join("atlas.db"), messages));
    println!("{messages} messages stored in {:.1} s", begun.elapsed().as_secs_f64());

    let mut ready: Vec<f64> = (0..STARTS).map(|_| start(&atlas, &home, &bell, None)).collect();
    ready.sort_by(f64::total_cmp);
    let (least, median, most) = (ready[0], ready[STARTS / 2], ready[STARTS - 1]);
    println!("start to ready: median {median:.1} ms ({least:.1} to {most:.1}), {STARTS} starts");

    let mut memory = 0.0;
    start(&atlas, &home, &bell, Some(&mut memory));
    println!("idle, Telegram connected: PSS {memory:.1} MiB");
}

/// The executable to be measured.
fn executable() -> PathBuf {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/dist/atlas");
    #[expect(clippy::disallowed_methods, reason = "a benchmark is told what to measure")]
    let path = std::env::var_os("ATLAS_BIN").map_or(built, PathBuf::from);
    assert!(path.exists(), "{} is missing: cargo build --profile dist", path.display());
    path
}

fn number(name: &str, usual: usize) -> usize {
    #[expect(clippy::disallowed_methods, reason = "a benchmark is told how much to measure")]
    let told = std::env::var(name);
    told.ok().and_then(|told| told.parse().ok()).unwrap_or(usual)
}

fn configure(atlas: &Path, home: &Path, telegram: &Telegram) {
    std::fs::create_dir_all(home).expect("a home");
    let config = format!(
        "[accounts.tg]\nplatform = \"telegram\"\ntoken = \"1:bench\"\napi_base = {:?}\n\
         [models.default]\nprovider = \"offline\"\nmodel = \"offline\"\n",
        telegram.api_base()
    );
    std::fs::write(home.join("atlas.toml"), config).expect("a configuration");
    // The first start makes the home.
    let made =
        Command::new(atlas).args(["--home"]).arg(home).args(["chat", "-m", "hello"]).output();
    assert!(made.expect("atlas runs").status.success(), "the home can be made");
}

/// Milliseconds from the start to the log line that says that the intake is open.
fn start(atlas: &Path, home: &Path, bell: &std::sync::Arc<Bell>, memory: Option<&mut f64>) -> f64 {
    let begun = Instant::now();
    let mut process =
        Process::start("atlas", Command::new(atlas).arg("--home").arg(home).arg("run"), bell);
    until(bell, "the process is ready", &process, || {
        process.logged("Atlas is ready").then_some(())
    });
    let ready = begun.elapsed().as_secs_f64() * 1_000.0;
    if let Some(memory) = memory {
        #[expect(
            clippy::disallowed_methods,
            reason = "what is measured is a process that was left alone"
        )]
        std::thread::sleep(IDLE);
        *memory = pss(process.id());
    }
    process.terminate();
    process.wait(bell);
    ready
}

/// A process's share of the memory that it uses, in MiB.
fn pss(process: u32) -> f64 {
    let path = format!("/proc/{process}/smaps_rollup");
    let text = std::fs::read_to_string(path).expect("the process's memory");
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).expect("a line Pss");
    let kib: f64 = line.trim().trim_end_matches(" kB").trim().parse().expect("a number");
    kib / 1_024.0
}

/// Fills a database through the store's own use cases.
async fn fill(path: &Path, messages: usize) {
    let store = SqliteStore::open(path).await.expect("a database");
    let at = DateTime::from_timestamp(1_790_000_000, 0).expect("an instant");
    let bot = store.take_up_bots(&["atlas".into()], at).await.expect("a bot")[0].1;
    for number in 0..CONVERSATIONS {
        let to = ConversationSpec {
            bot,
            key: ConversationKey::Chat(ChatKey {
                account: "tg".into(),
                chat: number.to_string().into(),
            }),
            audience: Audience::Shared,
        };
        let mut left = messages / CONVERSATIONS;
        let mut round = 0;
        while left > 0 {
            let now = left.min(EPISODE);
            episode(&store, &to, round, now).await;
            left -= now;
            round += 1;
        }
    }
    store.close().await;
}

/// One turn with this many messages, archived.
async fn episode(store: &SqliteStore, to: &ConversationSpec, round: usize, messages: usize) {
    let at = DateTime::from_timestamp(1_790_000_000, 0).expect("an instant");
    let (inbox, conversation) = accept(store, to, round).await;
    let until = at + chrono::TimeDelta::minutes(1);
    let claim = store.claim(conversation, &"bench".into(), until, Seq(0)).await.expect("a claim");
    let claim = claim.expect("it is free").claim;
    let turn = NewTurn {
        claim: claim.clone(),
        standing: Standing::Guest,
        taken: vec![inbox],
        body: Body::note("Is the weekly report ready for the review on Friday?"),
        notes: TurnNotes::default(),
        at,
    };
    let Opened { turn, message: first, .. } = store.open_turn(&turn).await.expect("a turn");
    let line = |n| Body::line(format!("Message {n}: the report is ready; three figures are new."));
    let step = StepCommit {
        claim: claim.clone(),
        turn: turn.id,
        at,
        messages: (1..messages).map(line).collect(),
        taken: Vec::new(),
        deliveries: Vec::new(),
        usage: None,
        notes: TurnNotes::default(),
        end: Some(TurnEnd::Done),
        give_back: false,
    };
    let stored = store.commit_step(&step).await.expect("a step").messages;
    let archived_to = stored.last().map_or(first.seq, |message| message.seq);
    let head = (None, Body::note("The conversation goes on."));
    let cut = Cut {
        claim: claim.clone(),
        at,
        head,
        kept: Vec::new(),
        archived_to,
        deliveries: Vec::new(),
    };
    store.cut(&cut).await.expect("a cut");
    store.release(&claim, true).await.expect("given back");
}

async fn accept(
    store: &SqliteStore,
    to: &ConversationSpec,
    round: usize,
) -> (atlas_core::ids::InboxId, ConversationId) {
    let ConversationKey::Chat(place) = &to.key else { panic!("a chat") };
    let at = DateTime::from_timestamp(1_790_000_000, 0).expect("an instant");
    let inbound = Inbound {
        lineage: vec![place.chat.clone()],
        kind: ChatKind::Direct,
        chat_name: None,
        message: PlatformMessage(round.to_string()),
        order: i64::try_from(round).expect("a small number"),
        sender: Sender { person: None, name: "Ana".into(), is_bot: false },
        text: "Is the weekly report ready?".into(),
        outside: false,
        files: Vec::new(),
        addressed: Addressed::Directly,
        command: None,
        sent_at: at,
    };
    let event = NewInbox {
        account: place.account.clone(),
        platform: "telegram".into(),
        key: format!("{place}:{round}"),
        raw: "{}".into(),
        accepted_by: "bench".into(),
        at,
        disposition: Disposition::Turn { to: to.clone(), standing: Standing::Guest, inbound },
        deliveries: Vec::new(),
        door: Door::Open,
    };
    match store.accept(&[event]).await.expect("stored")[..] {
        [Accepted::Stored { inbox, conversation: Some(conversation) }] => (inbox, conversation),
        ref other => panic!("{other:?}"),
    }
}
