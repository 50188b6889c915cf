//! Memory's intents and history, and housekeeping.

use anyhow::Result;
use atlas_core::ports::{HistoryRow, Intended, Intent, IntentState, NewIntent, Origin, StoreError};

use super::{Database, Story, second};

const FILE: &str = "memory/USER.md";

fn intent(key: &str) -> NewIntent {
    NewIntent {
        key: key.to_owned(),
        bot: None,
        conversation: None,
        claim: None,
        path: FILE.to_owned(),
        before: None,
        after: "- a cat\n".to_owned(),
        reply: "added".to_owned(),
        origin: Origin::Tool,
        at: second(1),
    }
}

fn changed(before: Option<&str>, after: Option<&str>) -> HistoryRow {
    HistoryRow {
        bot: None,
        path: FILE.to_owned(),
        before: before.map(ToOwned::to_owned),
        after: after.map(ToOwned::to_owned),
        origin: Origin::Tool,
        conversation: None,
        at: second(2),
    }
}

/// With everything it was stored with.
pub async fn an_intent_is_stored_once_for_its_key(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let (_, conversation) = story.say("5", 1).await?;
    let new = NewIntent {
        bot: Some(story.bot),
        conversation: Some(conversation),
        claim: Some(story.claim(conversation, "one").await?),
        before: Some(String::new()),
        ..intent("turn 1")
    };
    let Intended::Fresh(id) = story.store.intend(&new).await? else {
        anyhow::bail!("it was not there before")
    };
    let known = Intent { id, new: new.clone(), state: IntentState::Open };
    let other = NewIntent { after: "something else".to_owned(), ..new };
    assert_eq!(story.store.intend(&other).await?, Intended::Known(Box::new(known.clone())));
    assert_eq!(story.store.intent("turn 1").await?, Some(known.clone()));
    assert_eq!(story.store.intent("turn 2").await?, None);
    assert_eq!(story.store.open_intents(Some(FILE)).await?, std::slice::from_ref(&known));
    assert_eq!(story.store.open_intents(Some("MEMORY.md")).await?, []);
    assert_eq!(story.store.open_intents(None).await?, [known]);
    Ok(())
}

/// Since somebody else may be writing by now.
pub async fn an_intent_of_an_old_claim_is_refused(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let (_, conversation) = story.say("5", 1).await?;
    let old = story.claim(conversation, "one").await?;
    story.claim(conversation, "one").await?;
    let new = NewIntent { claim: Some(old), ..intent("turn 1") };
    assert_eq!(story.store.intend(&new).await, Err(StoreError::ClaimLost));
    assert_eq!(story.store.intent("turn 1").await?, None);
    Ok(())
}

/// Whoever asked may ask again; one that was applied stays.
pub async fn an_intent_that_did_not_happen_gives_way(database: &dyn Database) -> Result<()> {
    let store = database.open().await?;
    let Intended::Fresh(first) = store.intend(&intent("k")).await? else {
        anyhow::bail!("it was not there before")
    };
    store.settle_intent(first, IntentState::NotApplied, &[]).await?;
    assert_eq!(store.open_intents(None).await?, []);
    let Intended::Fresh(second) = store.intend(&intent("k")).await? else {
        anyhow::bail!("the first did not happen")
    };
    assert!(second > first, "a number is not given again");
    store.settle_intent(second, IntentState::Applied, &[]).await?;
    let Intended::Known(known) = store.intend(&intent("k")).await? else {
        anyhow::bail!("it happened")
    };
    assert_eq!((known.id, known.state), (second, IntentState::Applied));
    Ok(())
}

/// Only while it is open.
pub async fn an_open_intent_can_be_redone(database: &dyn Database) -> Result<()> {
    let store = database.open().await?;
    let Intended::Fresh(id) = store.intend(&intent("k")).await? else {
        anyhow::bail!("it was not there before")
    };
    store.redo_intent(id, Some("by hand"), "both", "merged").await?;
    let found = store.open_intents(Some(FILE)).await?;
    assert_eq!(found[0].new.before.as_deref(), Some("by hand"));
    assert_eq!((&*found[0].new.after, &*found[0].new.reply), ("both", "merged"));
    store.settle_intent(id, IntentState::Applied, &[]).await?;
    let late = store.redo_intent(id, None, "late", "late").await;
    assert!(matches!(late, Err(StoreError::Failed(_))), "{late:?}");
    Ok(())
}

/// The newest first; an edit by hand has no intent.
pub async fn history_is_written_with_the_settlement_once(database: &dyn Database) -> Result<()> {
    let store = database.open().await?;
    let Intended::Fresh(id) = store.intend(&intent("k")).await? else {
        anyhow::bail!("it was not there before")
    };
    let first = changed(None, Some("- a cat\n"));
    store.settle_intent(id, IntentState::Applied, std::slice::from_ref(&first)).await?;
    store.settle_intent(id, IntentState::Applied, std::slice::from_ref(&first)).await?;
    let otherwise = store.settle_intent(id, IntentState::NotApplied, &[]).await;
    assert!(matches!(otherwise, Err(StoreError::Failed(_))), "{otherwise:?}");
    let by_hand = HistoryRow { origin: Origin::HandEdit, ..changed(Some("- a cat\n"), None) };
    store.record_history(std::slice::from_ref(&by_hand)).await?;
    assert_eq!(store.history(FILE, 9).await?, [by_hand.clone(), first]);
    assert_eq!(store.history(FILE, 1).await?, [by_hand]);
    assert_eq!(store.history("MEMORY.md", 9).await?, []);
    Ok(())
}

/// And one's own is not.
pub async fn another_process_s_commit_is_noticed(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let other = database.open().await?;
    let (mine, theirs) = (story.store.data_version().await?, other.data_version().await?);
    story.say("5", 1).await?;
    story.store.check().await?;
    assert_eq!(story.store.data_version().await?, mine);
    assert_ne!(other.data_version().await?, theirs);
    let seen = other.data_version().await?;
    assert_eq!(other.open_work().await?.len(), 1);
    assert_eq!(other.data_version().await?, seen);
    Ok(())
}

/// More than once.
pub async fn a_check_writes_and_reads(database: &dyn Database) -> Result<()> {
    let store = database.open().await?;
    store.check().await?;
    store.check().await?;
    Ok(())
}
