use std::sync::Mutex;

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use super::*;
use crate::change::{Operation, Target};
use crate::ports::{LockGuard, Stat};
use crate::testing::bots::bot;
use crate::testing::intents::{Intents, Told};
use crate::testing::memory_files::{InMemoryFiles, prepared};

const PROFILE: &str = "memory/USER.md";

struct Fixed;

impl Clock for Fixed {
    fn now(&self) -> DateTime<Utc> {
        DateTime::from_timestamp(1_796_000_000, 0).unwrap()
    }
}

struct Home {
    files: InMemoryFiles,
    store: Arc<Intents>,
    writer: MemoryWriter,
}

fn home(files: InMemoryFiles) -> Home {
    let store = Arc::new(Intents::new());
    let writer = impatient(store.clone(), Arc::new(files.clone()));
    Home { files, store, writer }
}

/// A writer that does not watch for late editors.
fn impatient(store: Arc<Intents>, files: Arc<dyn MemoryFiles>) -> MemoryWriter {
    MemoryWriter { young: Duration::ZERO, ..MemoryWriter::new(store, files, Arc::new(Fixed)) }
}

fn change(key: &str, operations: &[Operation]) -> Change {
    Change {
        target: Target::User,
        path: Target::User.path(&bot("atlas")),
        operations: operations.to_vec(),
        origin: Origin::Tool,
        key: key.to_owned(),
        bot: None,
        conversation: Some(ConversationId(7)),
        claim: None,
    }
}

fn add(content: &str) -> Operation {
    Operation::Add { content: content.to_owned() }
}

fn row(origin: Origin, before: Option<&str>, after: Option<&str>) -> Told {
    (origin, before.map(str::to_owned), after.map(str::to_owned))
}

impl Home {
    fn text(&self) -> Option<String> {
        self.files.text(PROFILE)
    }

    /// Nothing but the file itself, and copies that a person is meant to find.
    fn is_tidy(&self) -> bool {
        self.files.paths().iter().all(|path| !path.ends_with(".tmp"))
    }

    fn restarted(self) -> Self {
        self.store.die_after(usize::MAX);
        let writer = impatient(self.store.clone(), Arc::new(self.files.clone()));
        Self { writer, ..self }
    }
}

#[tokio::test]
async fn a_write_is_in_the_file_and_in_the_history() {
    let home = home(InMemoryFiles::new());
    let written = home.writer.write(&change("k1", &[add("a")])).await.unwrap();
    assert!(matches!(written, Written::Applied(reply) if reply.starts_with("Applied 1")));
    home.writer.write(&change("k2", &[add("b")])).await.unwrap();
    assert_eq!(home.text().as_deref(), Some("a\n§\nb\n"));
    assert_eq!(
        home.store.told(),
        [row(Origin::Tool, None, Some("a\n")), row(Origin::Tool, Some("a\n"), Some("a\n§\nb\n"))]
    );
    assert_eq!(home.store.states(), [IntentState::Applied; 2]);
    assert!(home.is_tidy());
}

#[tokio::test]
async fn the_same_key_writes_once_and_is_answered_the_same() {
    let home = home(InMemoryFiles::new());
    let first = home.writer.write(&change("k", &[add("a")])).await.unwrap();
    home.files.save(PROFILE, "b\n");
    assert_eq!(home.writer.write(&change("k", &[add("a")])).await.unwrap(), first);
    assert_eq!(home.text().as_deref(), Some("b\n"));
}

#[tokio::test]
async fn what_changes_nothing_leaves_no_trace() {
    let home = home(InMemoryFiles::new().with(PROFILE, "\u{feff}a\r\n"));
    let written = home.writer.write(&change("k", &[add("a")])).await.unwrap();
    assert!(matches!(written, Written::Unchanged(_)));
    let remove = Operation::Remove { old_text: "nothing like it".into() };
    assert!(matches!(
        home.writer.write(&change("r", &[remove])).await.unwrap(),
        Written::Refused(_)
    ));
    assert_eq!(home.text().as_deref(), Some("\u{feff}a\r\n"));
    assert_eq!((home.store.told(), home.store.states()), (vec![], vec![]));
}

#[tokio::test]
async fn an_edit_by_hand_between_turns_is_recorded_before_the_next_write() {
    let home = home(InMemoryFiles::new());
    home.writer.write(&change("k1", &[add("a")])).await.unwrap();
    home.files.save(PROFILE, "a, by hand\n");
    home.writer.write(&change("k2", &[add("b")])).await.unwrap();
    assert_eq!(
        home.store.told()[1..],
        [
            row(Origin::HandEdit, Some("a\n"), Some("a, by hand\n")),
            row(Origin::Tool, Some("a, by hand\n"), Some("a, by hand\n§\nb\n")),
        ]
    );
}

#[tokio::test]
async fn a_save_between_reading_and_placing_is_kept_and_the_write_redone_on_top() {
    let home = home(InMemoryFiles::new().with(PROFILE, "a\n"));
    home.files.between(PROFILE, Some("a\n§\nby hand\n"));
    let Written::Applied(reply) = home.writer.write(&change("k", &[add("b")])).await.unwrap()
    else {
        panic!("applied")
    };
    assert_eq!(home.text().as_deref(), Some("a\n§\nby hand\n§\nb\n"));
    assert!(reply.contains("3 entries"), "the reply is of the text that stands: {reply}");
    assert_eq!(
        home.store.told(),
        [
            row(Origin::HandEdit, Some("a\n"), Some("a\n§\nby hand\n")),
            row(Origin::Tool, Some("a\n§\nby hand\n"), Some("a\n§\nby hand\n§\nb\n")),
        ]
    );
    assert!(home.is_tidy());
}

#[tokio::test]
async fn an_editor_that_saves_twice_loses_neither_save() {
    let home = home(InMemoryFiles::new().with(PROFILE, "a\n"));
    home.files.between(PROFILE, Some("first\n"));
    home.files.between(PROFILE, Some("second\n"));
    home.writer.write(&change("k", &[add("b")])).await.unwrap();
    assert_eq!(home.text().as_deref(), Some("second\n§\nb\n"));
    let told = home.store.told();
    for text in ["first\n", "second\n"] {
        assert!(told.iter().any(|row| row.2.as_deref() == Some(text)), "{text} in {told:?}");
    }
}

#[tokio::test]
async fn an_editor_that_never_stops_saving_is_reported_and_keeps_its_text() {
    let home = home(InMemoryFiles::new().with(PROFILE, "a\n"));
    for save in 0..100 {
        home.files.between(PROFILE, Some(&format!("save {save}\n")));
    }
    let result = home.writer.write(&change("k", &[add("b")])).await;
    assert_eq!(result, Err(WriteError::Busy(PROFILE.into())));
    assert!(home.text().unwrap().starts_with("save "), "{:?}", home.text());
}

#[tokio::test]
async fn a_file_that_appears_or_vanishes_in_between_is_what_the_write_stands_on() {
    let home1 = home(InMemoryFiles::new());
    home1.files.between(PROFILE, Some("by hand\n"));
    home1.writer.write(&change("k", &[add("b")])).await.unwrap();
    assert_eq!(home1.text().as_deref(), Some("by hand\n§\nb\n"));

    let home2 = home(InMemoryFiles::new().with(PROFILE, "a\n"));
    home2.files.between(PROFILE, None);
    home2.writer.write(&change("k", &[add("b")])).await.unwrap();
    assert_eq!(home2.text().as_deref(), Some("b\n"), "what was deleted by hand stays deleted");
    assert_eq!(home2.store.told()[0], row(Origin::HandEdit, Some("a\n"), None));
    assert!(home1.is_tidy() && home2.is_tidy());
}

#[tokio::test]
async fn a_save_that_makes_the_change_impossible_stands() {
    let home = home(InMemoryFiles::new().with(PROFILE, "likes tea\n"));
    home.files.between(PROFILE, Some("likes coffee\n"));
    let remove = Operation::Remove { old_text: "likes tea".into() };
    let written = home.writer.write(&change("k", &[remove])).await.unwrap();
    assert!(matches!(written, Written::Refused(reply) if reply.contains("likes coffee")));
    assert_eq!(home.text().as_deref(), Some("likes coffee\n"));
    assert_eq!(home.store.states(), [IntentState::NotApplied]);
    assert!(home.is_tidy());
}

#[tokio::test]
async fn an_unreadable_file_is_never_written() {
    let home = home(InMemoryFiles::new().with(PROFILE, "a\n"));
    home.files.hold(PROFILE);
    let error = home.writer.write(&change("k", &[add("b")])).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "memory/USER.md exists but cannot be read right now: another program holds it"
    );
    assert_eq!(home.text().as_deref(), Some("a\n"));
}

#[tokio::test]
async fn a_full_disk_changes_nothing_and_the_call_can_be_made_again() {
    let home = home(InMemoryFiles::new().with(PROFILE, "a\n"));
    home.files.fill(true);
    let error = home.writer.write(&change("k", &[add("b")])).await.unwrap_err();
    assert!(error.to_string().contains("cannot be written"), "{error}");
    assert_eq!(home.store.states(), [IntentState::NotApplied]);
    home.files.fill(false);
    assert!(matches!(home.writer.write(&change("k", &[add("b")])).await, Ok(Written::Applied(_))));
    assert_eq!(home.text().as_deref(), Some("a\n§\nb\n"));
}

#[tokio::test]
async fn a_write_that_stands_is_told_as_made_while_the_database_fails() {
    let home = home(InMemoryFiles::new().with(PROFILE, "a\n"));
    home.store.die_after(1);
    assert!(matches!(home.writer.write(&change("k", &[add("b")])).await, Ok(Written::Applied(_))));
    assert_eq!(home.text().as_deref(), Some("a\n§\nb\n"));
    assert_eq!(home.store.states(), [IntentState::Open]);
    let home = home.restarted();
    home.writer.settle_open_intents().await.unwrap();
    assert_eq!(home.store.states(), [IntentState::Applied]);
}

#[tokio::test]
async fn an_oversized_entry_is_set_aside_once_per_content() {
    let large = "x".repeat(2_000);
    let home = home(InMemoryFiles::new().with(PROFILE, &large));
    let remove = [Operation::Remove { old_text: "xxx".into() }];
    for key in ["k1", "k2"] {
        let Written::Refused(reply) = home.writer.write(&change(key, &remove)).await.unwrap()
        else {
            panic!("refused")
        };
        assert!(
            reply.starts_with(
                "Refusing to write USER.md: it holds an entry larger than the whole store's char limit"
            ),
            "{reply}"
        );
        assert!(reply.contains("memory/USER.md.bak."), "{reply}");
    }
    let copies = home.files.paths().into_iter().filter(|path| path.contains(".bak.")).count();
    assert_eq!(copies, 1);
    assert_eq!(home.text().as_deref(), Some(large.as_str()));
    home.writer.write(&change("k3", &[add("small")])).await.unwrap();
    assert_eq!(home.text(), Some(format!("{large}\n§\nsmall\n")));
}

#[tokio::test]
async fn two_writers_at_once_lose_nothing() {
    let home = Arc::new(home(InMemoryFiles::new()));
    let writes =
        (0..20).map(|n| {
            let home = Arc::clone(&home);
            async move {
                home.writer.write(&change(&format!("k{n}"), &[add(&format!("fact {n}"))])).await
            }
        });
    for written in futures_util::future::join_all(writes).await {
        assert!(matches!(written, Ok(Written::Applied(_))));
    }
    let text = home.text().unwrap();
    assert!((0..20).all(|n| text.lines().any(|line| line == format!("fact {n}"))), "{text}");
}

/// The files' port, dying before or after its n-th step that changes something.
struct Dying {
    files: InMemoryFiles,
    left: Mutex<usize>,
    /// Whether the step at which it dies still happens.
    after: bool,
}

impl Dying {
    fn dead(&self) -> bool {
        *self.left.lock().unwrap() == 0
    }

    /// Whether to do the step, and whether to die of it.
    fn step(&self) -> (bool, bool) {
        let mut left = self.left.lock().unwrap();
        match *left {
            0 => (false, true),
            1 => {
                *left = 0;
                (self.after, true)
            }
            _ => {
                *left -= 1;
                (true, false)
            }
        }
    }
}

fn killed<T>() -> Result<T, FileError> {
    Err(FileError::Unwritable { path: PROFILE.into(), why: "killed".into() })
}

#[async_trait]
impl MemoryFiles for Dying {
    async fn read(&self, path: &str) -> Result<FileState, FileError> {
        if self.dead() { killed() } else { self.files.read(path).await }
    }
    async fn stat(&self, path: &str) -> Result<Option<Stat>, FileError> {
        self.files.stat(path).await
    }
    async fn lock(&self, path: &str) -> Result<Box<dyn LockGuard>, FileError> {
        self.files.lock(path).await
    }
    async fn prepare(&self, path: &str, token: &str, text: &str) -> Result<(), FileError> {
        let (run, die) = self.step();
        let done = if run { self.files.prepare(path, token, text).await } else { killed() };
        if die { killed() } else { done }
    }
    async fn place(&self, path: &str, token: &str, missing: bool) -> Result<Placed, FileError> {
        let (run, die) = self.step();
        let done = if run { self.files.place(path, token, missing).await } else { killed() };
        if die { killed() } else { done }
    }
    async fn left_over(&self, path: &str, token: &str) -> Result<FileState, FileError> {
        if self.dead() { killed() } else { self.files.left_over(path, token).await }
    }
    async fn discard(&self, path: &str, token: &str) -> Result<(), FileError> {
        let (run, die) = self.step();
        let done = if run { self.files.discard(path, token).await } else { killed() };
        if die { killed() } else { done }
    }
    async fn back_up(&self, path: &str, text: &str, stamp: &str) -> Result<String, FileError> {
        self.files.back_up(path, text, stamp).await
    }
}

/// Kills a write at the n-th step that changes something, of the files or of the store, before it
/// or after it; restarts; asks again by the same key.
async fn killed_and_resumed(files: InMemoryFiles, point: Point) -> Home {
    let store = Arc::new(Intents::new());
    let steps = if let Point::Files(n, _) = point { n } else { usize::MAX };
    let after = matches!(point, Point::Files(_, true));
    let dying = Dying { files: files.clone(), left: Mutex::new(steps), after };
    if let Point::Store(n) = point {
        store.die_after(n);
    }
    let writer = impatient(store.clone(), Arc::new(dying));
    // A process that dies at a step of its files settles nothing either.
    if let Point::Files(..) = point {
        store.die_after(1);
    }
    let first = writer.write(&change("k", &[add("b")])).await;
    let home = Home { writer, files, store }.restarted();
    home.writer.settle_open_intents().await.unwrap();
    assert!(home.store.states().iter().all(|state| *state != IntentState::Open), "{point:?}");
    assert!(home.is_tidy(), "{point:?}: {:?}", home.files.paths());
    let second = home.writer.write(&change("k", &[add("b")])).await;
    assert!(matches!(second, Ok(Written::Applied(_))), "{point:?}: {first:?}, then {second:?}");
    home
}

#[derive(Clone, Copy, Debug)]
enum Point {
    /// The n-th step of the files; whether it still happens.
    Files(usize, bool),
    /// After this many writes of the store.
    Store(usize),
}

fn points() -> Vec<Point> {
    let files = (1..=7).flat_map(|n| [Point::Files(n, false), Point::Files(n, true)]);
    files.chain((0..=2).map(Point::Store)).collect()
}

#[tokio::test]
async fn a_write_killed_anywhere_is_made_once() {
    for point in points() {
        let home = killed_and_resumed(InMemoryFiles::new().with(PROFILE, "a\n"), point).await;
        assert_eq!(home.text().as_deref(), Some("a\n§\nb\n"), "{point:?}");
        let home = killed_and_resumed(InMemoryFiles::new(), point).await;
        assert_eq!(home.text().as_deref(), Some("b\n"), "{point:?}");
    }
}

#[tokio::test]
async fn a_write_killed_anywhere_while_somebody_saves_loses_neither() {
    for point in points() {
        let files = InMemoryFiles::new().with(PROFILE, "a\n");
        files.between(PROFILE, Some("by hand\n"));
        let home = killed_and_resumed(files, point).await;
        assert_eq!(home.text().as_deref(), Some("by hand\n§\nb\n"), "{point:?}");
    }
}

#[tokio::test]
async fn a_file_that_is_neither_text_keeps_all_three_in_the_history() {
    let home = home(InMemoryFiles::new().with(PROFILE, "a\n"));
    home.store.die_after(1);
    home.writer.write(&change("k", &[add("b")])).await.unwrap();
    let home = home.restarted();
    home.files.save(PROFILE, "found\n");
    home.writer.settle_open_intents().await.unwrap();
    assert_eq!(home.store.states(), [IntentState::NotApplied]);
    assert_eq!(
        home.store.told(),
        [
            row(Origin::Tool, Some("a\n"), Some("a\n§\nb\n")),
            row(Origin::HandEdit, Some("a\n§\nb\n"), Some("found\n")),
        ]
    );
    assert_eq!(home.text().as_deref(), Some("found\n"));
    assert!(home.is_tidy());
}

#[tokio::test]
async fn what_cannot_be_settled_now_stays_open_and_stops_nothing_else() {
    let home = home(InMemoryFiles::new().with(PROFILE, "a\n"));
    home.store.die_after(1);
    home.writer.write(&change("k", &[add("b")])).await.unwrap();
    let home = home.restarted();
    home.files.hold(PROFILE);
    home.writer.settle_open_intents().await.unwrap();
    assert_eq!(home.store.states(), [IntentState::Open]);
    assert!(matches!(
        home.writer.write(&change("other", &[add("c")])).await,
        Err(WriteError::File(FileError::Unreadable { .. }))
    ));
}

#[tokio::test]
async fn an_editor_that_goes_on_writing_into_the_displaced_file_keeps_its_text() {
    let files = InMemoryFiles::new().with(PROFILE, "a\n");
    // The file was saved this very second: its editor may have it open still.
    files.touch(i128::from(Fixed.now().timestamp_nanos_opt().unwrap()));
    let mut home = home(files);
    home.writer.young = Duration::from_millis(50);
    let written = change("k", &[add("b")]);
    let write = home.writer.write(&written);
    let late = async {
        let displaced = prepared(PROFILE, "intent-1");
        while home.files.text(&displaced).as_deref() != Some("a\n") {
            tokio::task::yield_now().await;
        }
        home.files.save(&displaced, "a, and more\n");
    };
    let (written, ()) = tokio::join!(write, late);
    assert!(matches!(written, Ok(Written::Applied(_))));
    let copies: Vec<String> =
        home.files.paths().into_iter().filter(|path| path.contains(".bak.")).collect();
    assert_eq!(copies.len(), 1);
    assert_eq!(home.files.text(&copies[0]).as_deref(), Some("a, and more\n"));
    assert!(home.store.told().contains(&row(Origin::HandEdit, Some("a\n"), Some("a, and more\n"))));
}
