//! What memory's files must do, wherever they are. Each function is one fact, and has a home for
//! itself.
//!
//! [`memory_files_contract!`](crate::memory_files_contract) makes one test of each, so that a second
//! kind of home is one more call of it.

use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use atlas_core::ports::{FileError, FileState, LockGuard, MemoryFiles, Placed};
use futures_util::FutureExt as _;

/// A home of its own, with a person at its files.
pub trait Home: Send + Sync {
    /// Its files, as one more process opens them.
    fn open(&self) -> Arc<dyn MemoryFiles>;
    /// Somebody saves a file, as editors do: beside it, then over it.
    ///
    /// # Errors
    ///
    /// When it cannot be saved.
    fn save(&self, path: &str, bytes: &[u8]) -> Result<()>;
    /// Somebody deletes a file.
    ///
    /// # Errors
    ///
    /// When it cannot be deleted.
    fn delete(&self, path: &str) -> Result<()>;
}

/// Makes a test of each fact. `$make` gives a [`Home`], by its whole path.
#[macro_export]
macro_rules! memory_files_contract {
    ($make:expr) => {
        $crate::memory_files_contract!(@each $make;
            a_missing_file_is_no_error,
            what_is_placed_is_read_back,
            a_new_file_replaces_nothing_that_appeared,
            an_exchange_keeps_what_it_displaced,
            a_save_in_between_is_displaced_whole,
            a_file_that_vanished_is_not_made_again,
            bytes_that_are_no_text_are_unreadable_and_stay_in_place,
            what_was_displaced_can_be_put_back,
            a_temporary_file_can_be_prepared_again,
            what_is_discarded_twice_is_gone,
            a_lock_holds_against_everybody,
            locks_of_different_files_are_different,
            a_copy_is_kept_once_for_its_content,
            paths_that_lead_elsewhere_are_refused,
            a_stat_changes_with_the_file,
            text_of_any_kind_comes_back_as_it_was,
        );
    };
    (@each $make:expr; $($fact:ident),+ $(,)?) => {
        $(
            #[tokio::test]
            async fn $fact() -> anyhow::Result<()> {
                $crate::contract::memory_files::$fact(&$make).await
            }
        )+
    };
}

const PATH: &str = "memory/USER.md";
const TOKEN: &str = "intent-1";

async fn text(files: &dyn MemoryFiles) -> Result<String> {
    match files.read(PATH).await? {
        FileState::Text(text) => Ok(text),
        FileState::Missing => bail!("{PATH} is missing"),
    }
}

async fn put(files: &dyn MemoryFiles, text: &str, expect_missing: bool) -> Result<Placed> {
    files.prepare(PATH, TOKEN, text).await?;
    Ok(files.place(PATH, TOKEN, expect_missing).await?)
}

/// There is nothing where there is nothing, folders included.
pub async fn a_missing_file_is_no_error(home: &impl Home) -> Result<()> {
    let files = home.open();
    ensure!(files.read(PATH).await? == FileState::Missing);
    ensure!(files.stat(PATH).await?.is_none());
    ensure!(files.left_over(PATH, TOKEN).await? == FileState::Missing);
    files.discard(PATH, TOKEN).await?;
    ensure!(files.read("bots/seo/MEMORY.md").await? == FileState::Missing);
    Ok(())
}

/// A first write makes folder and file.
pub async fn what_is_placed_is_read_back(home: &impl Home) -> Result<()> {
    let files = home.open();
    ensure!(put(&*files, "a\n", true).await? == Placed::New);
    ensure!(text(&*files).await? == "a\n");
    ensure!(files.left_over(PATH, TOKEN).await? == FileState::Missing);
    ensure!(text(&*home.open()).await? == "a\n");
    Ok(())
}

/// Where no file was read, none is written over.
pub async fn a_new_file_replaces_nothing_that_appeared(home: &impl Home) -> Result<()> {
    let files = home.open();
    files.prepare(PATH, TOKEN, "a\n").await?;
    home.save(PATH, b"by hand\n")?;
    ensure!(files.place(PATH, TOKEN, true).await? == Placed::Appeared);
    ensure!(text(&*files).await? == "by hand\n");
    ensure!(files.left_over(PATH, TOKEN).await? == FileState::Text("a\n".into()));
    Ok(())
}

/// The old text stands under the temporary name until it is discarded.
pub async fn an_exchange_keeps_what_it_displaced(home: &impl Home) -> Result<()> {
    let files = home.open();
    home.save(PATH, b"old\n")?;
    files.prepare(PATH, TOKEN, "new\n").await?;
    ensure!(files.left_over(PATH, TOKEN).await? == FileState::Text("new\n".into()));
    ensure!(text(&*files).await? == "old\n", "preparing changes nothing");
    ensure!(files.place(PATH, TOKEN, false).await? == Placed::Displaced("old\n".into()));
    ensure!(text(&*files).await? == "new\n");
    ensure!(home.open().left_over(PATH, TOKEN).await? == FileState::Text("old\n".into()));
    files.discard(PATH, TOKEN).await?;
    ensure!(files.left_over(PATH, TOKEN).await? == FileState::Missing);
    ensure!(text(&*files).await? == "new\n");
    Ok(())
}

/// What an editor saves after the file was read is told, and lost to nobody.
pub async fn a_save_in_between_is_displaced_whole(home: &impl Home) -> Result<()> {
    let files = home.open();
    home.save(PATH, b"read\n")?;
    files.prepare(PATH, TOKEN, "new\n").await?;
    home.save(PATH, b"saved meanwhile\n")?;
    let placed = files.place(PATH, TOKEN, false).await?;
    ensure!(placed == Placed::Displaced("saved meanwhile\n".into()), "{placed:?}");
    Ok(())
}

/// What somebody deleted stays deleted.
pub async fn a_file_that_vanished_is_not_made_again(home: &impl Home) -> Result<()> {
    let files = home.open();
    home.save(PATH, b"old\n")?;
    files.prepare(PATH, TOKEN, "new\n").await?;
    home.delete(PATH)?;
    ensure!(files.place(PATH, TOKEN, false).await? == Placed::Vanished);
    ensure!(files.read(PATH).await? == FileState::Missing);
    Ok(())
}

/// Not UTF-8: neither read nor replaced.
pub async fn bytes_that_are_no_text_are_unreadable_and_stay_in_place(
    home: &impl Home,
) -> Result<()> {
    let files = home.open();
    home.save(PATH, b"caf\xe9\n")?;
    let error = files.read(PATH).await.err().context("readable")?;
    ensure!(matches!(error, FileError::Unreadable { .. }));
    let words = error.to_string();
    ensure!(words.starts_with("memory/USER.md exists but cannot be read right now"), "{words}");
    files.prepare(PATH, TOKEN, "new\n").await?;
    ensure!(matches!(files.place(PATH, TOKEN, false).await, Err(FileError::Unreadable { .. })));
    ensure!(files.read(PATH).await.is_err(), "the bytes stand where they stood");
    ensure!(files.left_over(PATH, TOKEN).await? == FileState::Text("new\n".into()));
    Ok(())
}

/// Placing twice is as if nothing had been placed.
pub async fn what_was_displaced_can_be_put_back(home: &impl Home) -> Result<()> {
    let files = home.open();
    home.save(PATH, b"theirs\n")?;
    put(&*files, "ours\n", false).await?;
    let placed = files.place(PATH, TOKEN, false).await?;
    ensure!(placed == Placed::Displaced("ours\n".into()), "{placed:?}");
    ensure!(text(&*files).await? == "theirs\n");
    Ok(())
}

/// A second try of the same intent begins anew.
pub async fn a_temporary_file_can_be_prepared_again(home: &impl Home) -> Result<()> {
    let files = home.open();
    files.prepare(PATH, TOKEN, "a first and longer text\n").await?;
    ensure!(put(&*files, "second\n", true).await? == Placed::New);
    ensure!(text(&*files).await? == "second\n");
    Ok(())
}

/// Tidying up can be repeated, and touches the file itself never.
pub async fn what_is_discarded_twice_is_gone(home: &impl Home) -> Result<()> {
    let files = home.open();
    home.save(PATH, b"old\n")?;
    put(&*files, "new\n", false).await?;
    files.discard(PATH, TOKEN).await?;
    files.discard(PATH, TOKEN).await?;
    ensure!(text(&*files).await? == "new\n");
    Ok(())
}

/// One holder at a time, in this process and in any other.
pub async fn a_lock_holds_against_everybody(home: &impl Home) -> Result<()> {
    let (first, second) = (home.open(), home.open());
    let held: Box<dyn LockGuard> = first.lock(PATH).await?;
    let mut waits = second.lock(PATH);
    for _ in 0..50 {
        ensure!((&mut waits).now_or_never().is_none(), "two hold one lock");
        tokio::task::yield_now().await;
    }
    drop(held);
    let held = waits.await?;
    drop(held);
    let _again = first.lock(PATH).await?;
    Ok(())
}

/// A writer of one file waits for nobody who writes another.
pub async fn locks_of_different_files_are_different(home: &impl Home) -> Result<()> {
    let files = home.open();
    let _one = files.lock(PATH).await?;
    let _other = files.lock("memory/MEMORY.md").await?;
    Ok(())
}

/// The same text set aside twice is one copy; another text is another.
pub async fn a_copy_is_kept_once_for_its_content(home: &impl Home) -> Result<()> {
    let files = home.open();
    home.save(PATH, b"x\n")?;
    let first = files.back_up(PATH, "large\n", "20261130T120000Z").await?;
    ensure!(first == "memory/USER.md.bak.20261130T120000Z", "{first}");
    ensure!(files.back_up(PATH, "large\n", "20261130T130000Z").await? == first);
    let other = files.back_up(PATH, "other\n", "20261130T120000Z").await?;
    ensure!(other != first);
    ensure!(files.back_up(PATH, "large\n", "20261130T120000Z").await? == first, "both are kept");
    ensure!(text(&*files).await? == "x\n");
    Ok(())
}

/// Nothing outside the home, and nothing but Markdown, is reached.
pub async fn paths_that_lead_elsewhere_are_refused(home: &impl Home) -> Result<()> {
    let files = home.open();
    for path in [
        "",
        ".md",
        "/etc/passwd.md",
        "../USER.md",
        "memory/../../USER.md",
        "memory//USER.md",
        "./USER.md",
        "memory/USER.md/",
        "memory\\USER.md",
        "memory/USER\0.md",
        "atlas.toml",
        "vault/key",
    ] {
        let read = files.read(path).await;
        ensure!(matches!(read, Err(FileError::BadPath(_))), "{path}: {read:?}");
        let prepared = files.prepare(path, TOKEN, "x").await;
        ensure!(matches!(prepared, Err(FileError::BadPath(_))), "{path}: {prepared:?}");
    }
    Ok(())
}

/// A changed file has another stat, an untouched one the same.
pub async fn a_stat_changes_with_the_file(home: &impl Home) -> Result<()> {
    let files = home.open();
    home.save(PATH, b"a\n")?;
    let before = files.stat(PATH).await?.context("no stat")?;
    ensure!(files.stat(PATH).await? == Some(before));
    ensure!(before.size == 2);
    put(&*files, "b\n", false).await?;
    ensure!(files.stat(PATH).await? != Some(before));
    Ok(())
}

/// Byte for byte, whatever it is.
pub async fn text_of_any_kind_comes_back_as_it_was(home: &impl Home) -> Result<()> {
    let files = home.open();
    home.save(PATH, b"x")?;
    for written in ["", "\u{feff}a\r\n", "§\n\n§", "e\u{301}👩‍👩‍👧\u{0}\n", &"x".repeat(100_000)]
    {
        put(&*files, written, false).await?;
        ensure!(text(&*files).await? == written);
    }
    Ok(())
}
