//! What the engine itself costs, with a model and a platform in process and a real database
//! (`synchronous = FULL`): from a stored event to the platform's call, and turns a second over many
//! conversations. The figures go into `docs/performance.md`.
#![expect(clippy::expect_used, reason = "a benchmark stops where it cannot measure")]

use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use atlas_adapters::memory_fs::DiskFiles;
use atlas_adapters::store::SqliteStore;
use atlas_core::access::{Limits, Rate};
use atlas_core::bot::Bot;
use atlas_core::conversation::Conversations;
use atlas_core::conversation::kept::Kept;
use atlas_core::courier::Courier;
use atlas_core::engine::{Engine, Serves};
use atlas_core::event::{Addressed, ChatKind, Envelope, Event, Inbound, Sender};
use atlas_core::home::Home;
use atlas_core::ids::{AccountId, HolderId, Person, PlatformChat, PlatformMessage};
use atlas_core::intake::Intake;
use atlas_core::ports::{Outgoing, Platform, Presence, Store, SystemClock};
use atlas_core::router::{Allow, Answer, Route, Router};
use atlas_core::testing::{EchoModel, RecordingPlatform};
use atlas_core::tools::Toolbox;
use atlas_core::turn::learned::Learned;
use atlas_core::worker::Bells;
use chrono::DateTime;
use criterion::{Criterion, criterion_group, criterion_main};
use futures_util::future::join_all;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;

/// As in the executable.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Messages of history before the measured turn; half of them are questions.
const HISTORY: i64 = 10_000;

/// Conversations that are written in at once.
const MANY: i64 = 100;

struct Me(HolderId);

impl Presence for Me {
    fn me(&self) -> &HolderId {
        &self.0
    }

    fn alive(&self, _: &HolderId) -> bool {
        true
    }
}

/// A running engine.
struct Bench {
    runtime: Runtime,
    intake: Intake,
    sent: UnboundedReceiver<Outgoing>,
    next: i64,
    _stop: watch::Sender<bool>,
    _folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let folder = tempfile::tempdir().expect("a folder");
        let (engine, sent) = runtime.block_on(engine(folder.path()));
        let (stop, stopped) = watch::channel(false);
        let conversations = Conversations::new(engine.clone());
        let courier = Courier::new(engine.clone());
        let stopped_too = stopped.clone();
        runtime.spawn(async move { conversations.run(stopped).await });
        runtime.spawn(async move { courier.run(stopped_too).await });
        let intake = Intake::new(engine);
        Self { runtime, intake, sent, next: 1, _stop: stop, _folder: folder }
    }

    /// One turn in a chat, from before the event is stored until the platform has the answer.
    fn turn(&mut self, chat: i64) -> Duration {
        let event = event(chat, self.next);
        self.next += 1;
        self.runtime.block_on(async {
            self.intake.accept(vec![event]).await.expect("stored");
            // The engine's own time begins with the stored event.
            let begun = Instant::now();
            black_box(self.sent.recv().await).expect("an answer");
            begun.elapsed()
        })
    }

    /// A message in each of many conversations at once.
    fn many(&mut self) -> Duration {
        let first = self.next;
        self.next += MANY;
        self.runtime.block_on(async {
            let begun = Instant::now();
            // Each comes by itself, as from people who do not wait for each other.
            let accepted = join_all(
                (first..first + MANY)
                    .map(|number| self.intake.accept(vec![event(1_000 + number % MANY, number)])),
            );
            for stored in accepted.await {
                stored.expect("stored");
            }
            for _ in 0..MANY {
                self.sent.recv().await.expect("an answer");
            }
            begun.elapsed()
        })
    }
}

async fn engine(folder: &Path) -> (Arc<Engine>, UnboundedReceiver<Outgoing>) {
    let store = Arc::new(SqliteStore::open(&folder.join("atlas.db")).await.expect("a database"));
    let at = DateTime::from_timestamp(1_790_000_000, 0).expect("an instant");
    let ids = store.take_up_bots(&["atlas".into()], at).await.expect("a bot");
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
    let wide = Rate { most: u32::MAX, within: Duration::from_secs(1) };
    let home = Home {
        zone: chrono_tz::Tz::UTC,
        bots: vec![bot],
        models: [("default".into(), Arc::new(EchoModel::new("default", "Yes.")) as _)].into(),
        fallback: BTreeMap::new(),
        router: Router::new(vec![route]),
        owners: BTreeSet::new(),
        deciders: BTreeSet::new(),
        limits: Limits { guest: wide, chat: wide },
        join_direct: true,
        // As many messages as the figures speak of stay in front of the model: 200.
        compact_at: Some(8_000),
        patience: Duration::from_secs(900),
        memory_notice: true,
    };
    let (platform, sent) = RecordingPlatform::new("rec");
    let platform: Arc<dyn Platform> = Arc::new(platform);
    let engine = Engine {
        store,
        clock: Arc::new(SystemClock),
        presence: Arc::new(Me("bench".into())),
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

fn event(chat: i64, number: i64) -> Envelope {
    let person = Person { platform: "recording".into(), id: chat.to_string().into() };
    let inbound = Inbound {
        lineage: vec![PlatformChat(chat.to_string())],
        kind: ChatKind::Direct,
        chat_name: None,
        message: PlatformMessage(number.to_string()),
        order: number,
        sender: Sender { person: Some(person), name: "Ana".into(), is_bot: false },
        text: format!("Message {number}: is the weekly report ready for the review on Friday?"),
        outside: false,
        files: Vec::new(),
        addressed: Addressed::Directly,
        command: None,
        sent_at: DateTime::UNIX_EPOCH,
    };
    Envelope {
        account: "rec".into(),
        platform: "recording".into(),
        key: format!("{chat}:{number}"),
        raw: "{}".to_owned(),
        event: Event::Message(inbound),
    }
}

fn overhead(criterion: &mut Criterion) {
    let mut bench = Bench::new();
    for _ in 0..HISTORY / 2 {
        bench.turn(1);
    }
    criterion.bench_function("a turn at 10,000 messages of history", |bencher| {
        bencher.iter_custom(|turns| (0..turns).map(|_| bench.turn(1)).sum());
    });
}

fn throughput(criterion: &mut Criterion) {
    let mut bench = Bench::new();
    bench.many();
    let mut group = criterion.benchmark_group("many conversations");
    group.throughput(criterion::Throughput::Elements(MANY.unsigned_abs()));
    group.sample_size(20);
    group.bench_function("100 turns in 100 conversations", |bencher| {
        bencher.iter_custom(|rounds| (0..rounds).map(|_| bench.many()).sum());
    });
    group.finish();
}

criterion_group!(benches, overhead, throughput);
criterion_main!(benches);
