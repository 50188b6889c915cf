//! Memory on a disk: the contract, what only a disk can do wrong, and the writer over the real files
//! and the real database while others write too.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use atlas_adapters::memory_fs::DiskFiles;
use atlas_adapters::store::SqliteStore;
use atlas_core::change::{Change, Operation, Target};
use atlas_core::memory::entries::Entries;
use atlas_core::memory::{MemoryWriter, Written};
use atlas_core::ports::{
    Clock, FileError, FileState, Intended, IntentState, MemoryFiles, NewIntent, Origin, Placed,
    Store,
};
use atlas_tests::contract::memory_files::Home;
use atlas_tests::rounds;
use chrono::{DateTime, Utc};
use tempfile::TempDir;

/// A home in a folder that goes away with it.
struct Folder {
    folder: TempDir,
}

impl Folder {
    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// One more process on this home.
    async fn process(&self) -> Result<(Arc<dyn Store>, MemoryWriter)> {
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&self.path("atlas.db")).await?);
        let writer = MemoryWriter::new(store.clone(), self.open(), Arc::new(Fixed));
        Ok((store, writer))
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Home for Folder {
    fn open(&self) -> Arc<dyn MemoryFiles> {
        Arc::new(DiskFiles::new(self.folder.path().to_owned()))
    }

    fn save(&self, path: &str, bytes: &[u8]) -> Result<()> {
        save(&self.path(path), bytes)
    }

    fn delete(&self, path: &str) -> Result<()> {
        Ok(fs::remove_file(self.path(path))?)
    }
}

fn save(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::create_dir_all(path.parent().context("a parent")?)?;
    let beside = path.with_extension("md~");
    fs::write(&beside, bytes)?;
    Ok(fs::rename(&beside, path)?)
}

fn folder() -> Folder {
    Folder { folder: TempDir::new().expect("a folder") }
}

atlas_tests::memory_files_contract!(crate::memory::folder());

const PROFILE: &str = "memory/USER.md";

/// Some time: far from any file's, so that none counts as being written at this moment.
struct Fixed;

impl Clock for Fixed {
    fn now(&self) -> DateTime<Utc> {
        at()
    }
}

fn at() -> DateTime<Utc> {
    DateTime::from_timestamp(1_796_000_000, 0).expect("an instant")
}

fn change(key: &str, operation: Operation) -> Change {
    Change {
        target: Target::User,
        path: PROFILE.to_owned(),
        operations: vec![operation],
        origin: Origin::Tool,
        key: key.to_owned(),
        bot: None,
        conversation: None,
        claim: None,
    }
}

fn add(key: &str, content: &str) -> Change {
    change(key, Operation::Add { content: content.to_owned() })
}

#[tokio::test]
async fn no_symbolic_link_leads_out_of_the_home() -> Result<()> {
    let (home, outside) = (folder(), folder());
    outside.save("USER.md", b"not of this home\n")?;
    symlink(outside.path(""), home.path("shared"))?;
    fs::create_dir(home.path("memory"))?;
    symlink(outside.path("USER.md"), home.path(PROFILE))?;
    let files = home.open();
    for path in ["shared/USER.md", PROFILE] {
        let read = files.read(path).await;
        ensure!(matches!(read, Err(FileError::Unreadable { .. })), "{path}: {read:?}");
        let words = read.err().context("readable")?.to_string();
        ensure!(words.contains("symbolic link"), "{words}");
    }
    ensure!(files.prepare("shared/USER.md", "t", "x").await.is_err());
    ensure!(files.lock("shared/USER.md").await.is_err());
    files.prepare(PROFILE, "t", "x").await?;
    ensure!(files.place(PROFILE, "t", false).await.is_err());
    ensure!(files.place(PROFILE, "t", true).await? == Placed::Appeared);
    symlink(outside.path("USER.md"), home.path("memory/MEMORY.md.lock"))?;
    ensure!(files.lock("memory/MEMORY.md").await.is_err());
    ensure!(fs::read_to_string(outside.path("USER.md"))? == "not of this home\n");
    ensure!(outside.names("") == ["USER.md"]);
    Ok(())
}

#[tokio::test]
async fn what_is_no_plain_file_is_unreadable_and_makes_nobody_wait() -> Result<()> {
    let home = folder();
    fs::create_dir_all(home.path(PROFILE))?;
    fs::write(home.path("shared"), b"a file in a folder's place")?;
    let pipe = home.path("memory/MEMORY.md");
    ensure!(std::process::Command::new("mkfifo").arg(&pipe).status()?.success());
    let files = home.open();
    for path in [PROFILE, "shared/MEMORY.md", "memory/MEMORY.md"] {
        let read = files.read(path).await;
        ensure!(matches!(read, Err(FileError::Unreadable { .. })), "{path}: {read:?}");
    }
    ensure!(files.lock("shared/MEMORY.md").await.is_err());
    Ok(())
}

#[tokio::test]
async fn a_huge_file_is_not_taken_into_memory() -> Result<()> {
    let home = folder();
    fs::create_dir(home.path("memory"))?;
    fs::File::create(home.path(PROFILE))?.set_len(1 << 40)?;
    let words = home.open().read(PROFILE).await.err().context("readable")?.to_string();
    ensure!(words.contains("larger than 8 MiB"), "{words}");
    Ok(())
}

#[tokio::test]
async fn a_replaced_file_keeps_its_permissions_and_a_first_one_is_its_owners() -> Result<()> {
    let home = folder();
    let (_, writer) = home.process().await?;
    writer.write(&add("1", "a")).await?;
    ensure!(fs::metadata(home.path(PROFILE))?.mode() & 0o777 == 0o600);
    fs::set_permissions(home.path(PROFILE), fs::Permissions::from_mode(0o640))?;
    writer.write(&add("2", "b")).await?;
    ensure!(fs::metadata(home.path(PROFILE))?.mode() & 0o777 == 0o640);
    Ok(())
}

#[tokio::test]
async fn a_write_leaves_the_file_and_its_lock_and_nothing_else() -> Result<()> {
    let home = folder();
    let (store, writer) = home.process().await?;
    writer.write(&add("1", "The cat is called Pixel.")).await?;
    writer.write(&add("2", "Likes tea.")).await?;
    ensure!(home.names("memory") == ["USER.md", "USER.md.lock"], "{:?}", home.names("memory"));
    ensure!(fs::read_to_string(home.path(PROFILE))? == "The cat is called Pixel.\n§\nLikes tea.\n");
    ensure!(store.history(PROFILE, 9).await?.len() == 2);
    ensure!(store.open_intents(None).await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn case_48_a_file_with_a_blank_line_before_its_separator_can_be_written() -> Result<()> {
    let home = folder();
    home.save(PROFILE, b"a\n\n\xc2\xa7\nb")?;
    let (_, writer) = home.process().await?;
    let remove = change("1", Operation::Remove { old_text: "a".into() });
    ensure!(matches!(writer.write(&remove).await?, Written::Applied(_)));
    ensure!(fs::read_to_string(home.path(PROFILE))? == "b\n");
    Ok(())
}

#[tokio::test]
async fn case_47_a_file_without_separators_loses_no_line() -> Result<()> {
    let home = folder();
    let lines: Vec<String> = (1..=28).map(|n| format!("line {n:02}")).collect();
    let text = lines.join("\n");
    home.save(PROFILE, text.as_bytes())?;
    let (_, writer) = home.process().await?;
    let replace = Operation::Replace { old_text: "line 07".into(), content: "line seven".into() };
    let written = writer.write(&change("1", replace)).await?;
    ensure!(
        matches!(&written, Written::Refused(reply) if reply.contains("line 28")),
        "{written:?}"
    );
    ensure!(fs::read_to_string(home.path(PROFILE))? == text);
    Ok(())
}

#[tokio::test]
async fn a_file_that_is_not_utf8_is_never_written() -> Result<()> {
    let home = folder();
    home.save(PROFILE, b"caf\xe9\n")?;
    let (_, writer) = home.process().await?;
    let error = writer.write(&add("1", "a")).await.err().context("written")?.to_string();
    ensure!(error.contains("exists but cannot be read right now: it is not UTF-8"), "{error}");
    ensure!(fs::read(home.path(PROFILE))? == b"caf\xe9\n");
    Ok(())
}

/// Twenty facts from each of two processes, and an editor that saves twenty times, all at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_processes_and_an_editor_lose_nothing() -> Result<()> {
    for _ in rounds(1) {
        race().await?;
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "the race of a test needs tasks of its own")]
async fn race() -> Result<()> {
    let home = folder();
    let (store, first) = home.process().await?;
    let (_, second) = home.process().await?;
    let write = |name: &'static str, writer: MemoryWriter| {
        tokio::spawn(async move {
            let mut busy = Vec::new();
            for n in 0..20 {
                let fact = format!("{name} {n:02}");
                let change = add(&fact, &fact);
                if !matches!(writer.write(&change).await, Ok(Written::Applied(_))) {
                    busy.push(fact);
                }
            }
            busy
        })
    };
    let path = home.path(PROFILE);
    let editor = tokio::task::spawn_blocking(move || -> Result<()> {
        for n in 0..20 {
            // What an editor does: read, change, save.
            let text = fs::read_to_string(&path).unwrap_or_default();
            let entry = format!("hand {n:02}");
            let text = if text.is_empty() { entry } else { format!("{text}§\n{entry}\n") };
            save(&path, text.as_bytes())?;
            // The next save comes after somebody else's write, or after a while without one.
            (0..100_000).find(|_| fs::read(&path).is_ok_and(|now| now != text.as_bytes()));
        }
        Ok(())
    });
    let (first, second) = (write("first", first), write("second", second));
    editor.await??;
    let refused = [first.await?, second.await?].concat();
    let history = store.history(PROFILE, 1_000).await?;
    let now = fs::read_to_string(home.path(PROFILE))?;
    let held = |fact: &str| {
        let in_history = history.iter().filter_map(|row| row.after.as_deref());
        in_history
            .chain([now.as_str()])
            .any(|text| Entries::parse(text).as_slice().iter().any(|entry| entry == fact))
    };
    for name in ["first", "second"] {
        for n in 0..20 {
            let fact = format!("{name} {n:02}");
            ensure!(refused.contains(&fact) || held(&fact), "{fact} is lost");
        }
    }
    ensure!(store.open_intents(None).await?.is_empty());
    let left = home.names("memory");
    ensure!(left.iter().all(|name| !name.ends_with(".tmp")), "{left:?}");
    Ok(())
}

/// What a killed process leaves: an intent, and files at some point of the way.
async fn cut_short(home: &Folder, placed: bool, between: Option<&str>) -> Result<Arc<dyn Store>> {
    home.save(PROFILE, b"a\n")?;
    let (store, _) = home.process().await?;
    let intent = NewIntent {
        key: "k".into(),
        bot: None,
        conversation: None,
        claim: None,
        path: PROFILE.into(),
        before: Some("a\n".into()),
        after: "a\n§\nb\n".into(),
        reply: "Applied.".into(),
        origin: Origin::Tool,
        at: at(),
    };
    let Intended::Fresh(id) = store.intend(&intent).await? else { anyhow::bail!("known") };
    let (files, token) = (home.open(), format!("intent-{id}"));
    files.prepare(PROFILE, &token, &intent.after).await?;
    if let Some(text) = between {
        home.save(PROFILE, text.as_bytes())?;
    }
    if placed {
        files.place(PROFILE, &token, false).await?;
    }
    Ok(store)
}

#[tokio::test]
async fn a_write_that_was_cut_short_is_settled_by_what_the_file_holds() -> Result<()> {
    for (placed, between, text, state) in [
        (true, None, "a\n§\nb\n", IntentState::Applied),
        (false, None, "a\n", IntentState::NotApplied),
        (false, Some("x\n"), "x\n", IntentState::NotApplied),
        (true, Some("x\n"), "x\n", IntentState::NotApplied),
    ] {
        let home = folder();
        let store = cut_short(&home, placed, between).await?;
        let (_, writer) = home.process().await?;
        writer.settle_open_intents().await?;
        let label = format!("placed: {placed}, between: {between:?}");
        ensure!(fs::read_to_string(home.path(PROFILE))? == text, "{label}");
        let intent = store.intent("k").await?.context("the intent")?;
        ensure!(intent.state == state, "{label}: {:?}", intent.state);
        ensure!(home.names("memory") == ["USER.md", "USER.md.lock"], "{label}");
        ensure!(matches!(writer.write(&add("k", "b")).await?, Written::Applied(_)));
        let FileState::Text(now) = home.open().read(PROFILE).await? else { anyhow::bail!("gone") };
        ensure!(Entries::parse(&now).as_slice().iter().filter(|entry| *entry == "b").count() == 1);
    }
    Ok(())
}
