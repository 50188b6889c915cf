//! Who works on what.

use anyhow::{Context, Result};
use atlas_core::access::Standing;
use atlas_core::ids::Seq;
use atlas_core::message::Body;
use atlas_core::ports::{NewTurn, StepCommit, StoreError, TurnEnd, TurnNotes};

use super::turns::{begun, cut};
use super::{Database, Story, account, answer, observed, process, second, step, told};

pub(super) fn lost<T: std::fmt::Debug>(answer: Result<T, StoreError>) {
    assert!(matches!(answer, Err(StoreError::ClaimLost)), "{answer:?}");
}

/// Until it is released. The holder itself may claim again, for instance after its actor died.
pub async fn a_claim_is_one_holder_s(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let (_, conversation) = story.say("5", 1).await?;
    let first = story.claim(conversation, "one").await?;
    let taken = story.store.claim(conversation, &process("two"), second(9_999), Seq(0)).await?;
    assert!(taken.is_none(), "{taken:?}");
    let again = story.claim(conversation, "one").await?;
    assert!(again.fence > first.fence);
    assert_eq!(story.store.holders().await?, [process("one")]);
    story.store.release(&again, true).await?;
    assert_eq!(story.store.holders().await?, []);
    let other = story.claim(conversation, "two").await?;
    assert!(other.fence > again.fence);
    story.store.renew(&other, second(99)).await?;
    Ok(())
}

/// However they race.
pub async fn two_processes_never_claim_the_same(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let other = database.open().await?;
    for n in 0..20 {
        let (_, conversation) = story.say(&n.to_string(), 1).await?;
        let (one, two) = (process("one"), process("two"));
        let (mine, theirs) = tokio::join!(
            story.store.claim(conversation, &one, second(60), Seq(0)),
            other.claim(conversation, &two, second(60), Seq(0)),
        );
        let claims = [mine?, theirs?];
        assert_eq!(claims.iter().flatten().count(), 1, "{claims:?}");
    }
    Ok(())
}

/// And so is one that was given back.
pub async fn an_older_fence_is_refused_everywhere(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let (inbox, conversation) = story.say("5", 1).await?;
    let old = story.claim(conversation, "one").await?;
    let new = story.claim(conversation, "one").await?;
    let (turn, _) = story.open(&new, &[inbox]).await?;
    let given_back = story.claim(story.say("6", 1).await?.1, "one").await?;
    story.store.release(&given_back, true).await?;
    for stale in [old, given_back] {
        lost(story.store.renew(&stale, second(99)).await);
        lost(story.store.release(&stale, true).await);
        lost(story.store.commit_step(&step(&stale, &turn)).await);
        lost(story.store.cut(&cut(&stale, &turn)).await);
        let body = told("x");
        let taken = Vec::new();
        let standing = Standing::Owner;
        let turn = NewTurn {
            claim: stale,
            standing,
            taken,
            body,
            notes: TurnNotes::default(),
            at: second(1),
        };
        lost(story.store.open_turn(&turn).await);
    }
    assert_eq!(story.store.load(conversation, Seq(0)).await?.messages.len(), 1);
    story.store.commit_step(&step(&new, &turn)).await?;
    Ok(())
}

/// Opening a turn proves nothing yet.
pub async fn attempts_count_until_a_step_is_committed(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let (inbox, conversation) = story.say("5", 1).await?;
    assert_eq!(story.claim(conversation, "one").await?.attempt, 1);
    let claim = story.claim(conversation, "one").await?;
    assert_eq!(claim.attempt, 2);
    let (turn, _) = story.open(&claim, &[inbox]).await?;
    let claim = story.claim(conversation, "one").await?;
    assert_eq!(claim.attempt, 3);
    story.store.commit_step(&step(&claim, &turn)).await?;
    assert_eq!(story.claim(conversation, "one").await?.attempt, 1);
    Ok(())
}

/// The ones before it still count.
pub async fn a_clean_release_takes_the_attempt_back(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let (_, conversation) = story.say("5", 1).await?;
    let mut attempts = Vec::new();
    for clean in [true, false, true, false] {
        let claim = story.claim(conversation, "one").await?;
        attempts.push(claim.attempt);
        story.store.release(&claim, clean).await?;
    }
    assert_eq!(attempts, [1, 1, 2, 2]);
    Ok(())
}

/// Its conversations and its deliveries are anybody's; its own late commits are refused.
pub async fn a_dead_process_loses_what_it_held(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let (inbox, conversation) = story.say("5", 1).await?;
    let claim = story.claim(conversation, "dead").await?;
    let (turn, _) = story.open(&claim, &[inbox]).await?;
    story.store.enqueue(&[answer("5", "x")], second(1)).await?;
    let held = story.store.claim_deliveries(&process("dead"), &[account()], second(2), 9).await?;
    assert_eq!(story.store.holders().await?, [process("dead")]);

    story.store.free(&process("dead")).await?;
    assert_eq!(story.store.holders().await?, []);
    lost(story.store.commit_step(&step(&claim, &turn)).await);
    lost(story.store.attempting(held[0].new.id, held[0].fence, second(3)).await);
    let next = story.claim(conversation, "one").await?;
    assert_eq!(next.attempt, 2);
    assert_eq!(story.store.load(conversation, Seq(0)).await?.turn, Some(turn));
    let taken = story.store.claim_deliveries(&process("one"), &[account()], second(4), 9).await?;
    assert_eq!(taken[0].unsettled_since, Some(second(2)));
    Ok(())
}

/// Lines said nearby do not count; a message that waits does, and a step in the middle gives nothing back.
pub async fn the_last_step_gives_the_claim_back_where_nothing_waits(
    database: &dyn Database,
) -> Result<()> {
    let story = Story::begin(database).await?;
    let (claim, turn, _) = begun(&story, "5").await?;
    story.accept(observed(story.bot, "5", 2)).await?;
    let middle = story.store.commit_step(&step(&claim, &turn)).await?;
    assert!(!middle.given_back);
    let end = StepCommit { end: Some(TurnEnd::Done), give_back: true, ..step(&claim, &turn) };
    assert!(story.store.commit_step(&end).await?.given_back);
    assert_eq!(story.store.holders().await?, []);
    lost(story.store.release(&claim, true).await);
    let again = story.claim(claim.conversation, "two").await?;
    assert_eq!((again.attempt, again.fence > claim.fence), (1, true));

    let (claim, turn, _) = begun(&story, "6").await?;
    story.say("6", 2).await?;
    let end = StepCommit { end: Some(TurnEnd::Done), give_back: true, ..step(&claim, &turn) };
    assert!(!story.store.commit_step(&end).await?.given_back);
    story.store.release(&claim, true).await?;
    Ok(())
}

/// As `load` and `pending` tell it, from the message on that is asked for.
pub async fn a_claim_tells_how_the_conversation_stands(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let (claim, turn, _) = begun(&story, "5").await?;
    let messages = vec![Body::line("one"), Body::line("two")];
    story.store.commit_step(&StepCommit { messages, ..step(&claim, &turn) }).await?;
    let (waits, conversation) = story.say("5", 2).await?;
    for known in [0, 2, 3] {
        let (one, store) = (process("one"), &story.store);
        let claimed = store.claim(conversation, &one, second(60), Seq(known)).await?;
        let claimed = claimed.context("it is free for its holder")?;
        let loaded = store.load(conversation, Seq(known)).await?;
        assert_eq!(claimed.loaded.messages, loaded.messages);
        assert_eq!((claimed.loaded.turn, claimed.loaded.key), (loaded.turn, loaded.key));
        let waiting: Vec<_> = claimed.pending.iter().map(|pending| pending.inbox).collect();
        assert_eq!(waiting, [waits]);
    }
    Ok(())
}
