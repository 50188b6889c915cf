//! Conversations and turns.

use anyhow::{Context, Result};
use atlas_core::access::Standing;
use atlas_core::ids::{InboxId, Seq};
use atlas_core::message::{Body, Message};
use atlas_core::ports::{
    Claim, Cut, NewTurn, OBSERVED_WAITING, OpenTurn, OpenWork, PendingWhat, StepCommit, StoreError,
    Tokens, TurnEnd, TurnNotes, Usage,
};

use super::{
    Database, Story, account, answer, chat, commanded, observed, process, said, second, step, told,
};

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

fn lost<T: std::fmt::Debug>(answer: Result<T, StoreError>) {
    assert!(matches!(answer, Err(StoreError::ClaimLost)), "{answer:?}");
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

async fn begun(story: &Story, place: &str) -> Result<(Claim, OpenTurn, Message)> {
    let (inbox, conversation) = story.say(place, 1).await?;
    let claim = story.claim(conversation, "one").await?;
    let (turn, message) = story.open(&claim, &[inbox]).await?;
    Ok((claim, turn, message))
}

/// And what a commit answers is what is read later.
pub async fn messages_are_numbered_without_gaps(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let (claim, turn, first) = begun(&story, "5").await?;
    let (other, other_turn, _) = begun(&story, "6").await?;
    let mut answered = vec![first];
    for n in 0..5 {
        let messages = vec![Body::line(format!("{n}")), told("joined")];
        let next = StepCommit { messages, ..step(&claim, &turn) };
        answered.extend(story.store.commit_step(&next).await?.messages);
        story.store.commit_step(&step(&claim, &turn)).await?;
        let messages = vec![Body::line("elsewhere")];
        let next = StepCommit { messages, ..step(&other, &other_turn) };
        story.store.commit_step(&next).await?;
    }
    let loaded = story.store.load(claim.conversation, Seq(0)).await?;
    assert_eq!(loaded.messages, answered);
    let seqs: Vec<i64> = loaded.messages.iter().map(|message| message.seq.0).collect();
    assert_eq!(seqs, (1..=11).collect::<Vec<_>>());
    assert!(loaded.messages.iter().all(|message| message.turn == Some(turn.id)));
    assert_eq!((loaded.episode_from, loaded.turn), (Seq(1), Some(turn)));
    Ok(())
}

/// A row that is taken is taken, and rows of other conversations and commands cannot be.
pub async fn a_turn_takes_its_rows_once(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let (claim, turn, _) = begun(&story, "5").await?;
    let taken = InboxId(1);
    let (elsewhere, _) = story.say("6", 1).await?;
    let (command, _) = story.accept(commanded(story.bot, "5", 2, "status")).await?;
    for row in [taken, elsewhere, command, InboxId(999)] {
        let again = StepCommit { taken: vec![row], ..step(&claim, &turn) };
        let refused = story.store.commit_step(&again).await;
        assert!(matches!(refused, Err(StoreError::Failed(_))), "{row}: {refused:?}");
    }
    let (joins, _) = story.say("5", 3).await?;
    assert_eq!(story.store.pending(claim.conversation).await?.len(), 1);
    let joined = StepCommit { taken: vec![joins], ..step(&claim, &turn) };
    story.store.commit_step(&joined).await?;
    assert_eq!(story.store.pending(claim.conversation).await?, []);
    Ok(())
}

/// And a turn that is over takes no step.
pub async fn one_turn_is_open_at_a_time(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let (claim, turn, _) = begun(&story, "5").await?;
    let (next, _) = story.say("5", 2).await?;
    assert!(story.open(&claim, &[next]).await.is_err());
    let end = StepCommit { end: Some(TurnEnd::Done), ..step(&claim, &turn) };
    story.store.commit_step(&end).await?;
    let late = story.store.commit_step(&step(&claim, &turn)).await;
    assert!(matches!(late, Err(StoreError::Failed(_))), "{late:?}");
    let (second_turn, message) = story.open(&claim, &[next]).await?;
    assert!(second_turn.id > turn.id);
    assert_eq!(message.seq, Seq(2));
    Ok(())
}

/// Messages, deliveries, rows, notes: all of it or none.
pub async fn a_step_that_fails_leaves_nothing(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let (claim, turn, _) = begun(&story, "5").await?;
    let (joins, _) = story.say("5", 2).await?;
    let broken = StepCommit {
        messages: vec![Body::line("said")],
        taken: vec![joins, InboxId(999)],
        deliveries: vec![answer("5", "said")],
        notes: TurnNotes { refusals: 7, ..TurnNotes::default() },
        end: Some(TurnEnd::Done),
        ..step(&claim, &turn)
    };
    assert!(story.store.commit_step(&broken).await.is_err());
    let loaded = story.store.load(claim.conversation, Seq(0)).await?;
    assert_eq!((loaded.messages.len(), loaded.turn), (1, Some(turn.clone())));
    assert_eq!(story.store.pending(claim.conversation).await?.len(), 1);
    assert_eq!(story.store.next_delivery(&process("one"), &[account()]).await?, None);
    let mended = StepCommit { taken: vec![joins], ..broken };
    assert_eq!(story.store.commit_step(&mended).await?.messages[0].seq, Seq(2));
    Ok(())
}

/// Also after a cut, and when nothing is new.
pub async fn what_is_known_is_not_loaded_again(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let (claim, turn, _) = begun(&story, "5").await?;
    let said = StepCommit {
        messages: vec![Body::line("one"), Body::line("two")],
        end: Some(TurnEnd::Done),
        ..step(&claim, &turn)
    };
    story.store.commit_step(&said).await?;
    let seqs = async |known| -> Result<Vec<i64>> {
        let loaded = story.store.load(claim.conversation, Seq(known)).await?;
        Ok(loaded.messages.iter().map(|message| message.seq.0).collect())
    };
    assert_eq!(seqs(0).await?, [1, 2, 3]);
    assert_eq!(seqs(2).await?, [3]);
    assert_eq!(seqs(3).await?, [0; 0]);
    story.store.cut(&cut(&claim, &turn)).await?;
    assert_eq!(seqs(2).await?, [4, 5]);
    assert_eq!(seqs(4).await?, [5]);
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

/// Those that joined too; then nothing is left to do.
pub async fn a_turn_that_ends_closes_its_rows(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let (claim, turn, _) = begun(&story, "5").await?;
    let (joins, _) = story.say("5", 2).await?;
    let end = StepCommit { taken: vec![joins], end: Some(TurnEnd::Stopped), ..step(&claim, &turn) };
    story.store.commit_step(&end).await?;
    assert_eq!(story.store.open_work().await?, []);
    assert_eq!(story.store.pending(claim.conversation).await?, []);
    assert_eq!(story.store.places_at_work().await?, []);
    assert!(story.store.is_quiet(&chat("5")).await?);
    let loaded = story.store.load(claim.conversation, Seq(0)).await?;
    assert_eq!((loaded.turn, loaded.messages.len()), (None, 1));
    assert!(!story.store.status(claim.conversation).await?.turn_open);
    Ok(())
}

fn usage(input: u64, anchors: bool) -> Usage {
    let tokens = Tokens { input, cached: 3, cache_write: 2, output: 1 };
    Usage { model: "big".into(), purpose: "turn".to_owned(), tokens, anchors }
}

/// The count covers the answer, not what joined behind it; one that does not anchor changes none.
pub async fn a_step_remembers_notes_and_counts(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let (claim, turn, _) = begun(&story, "5").await?;
    assert_eq!(story.store.load(claim.conversation, Seq(0)).await?.counted, None);
    let notes = TurnNotes {
        changed: vec!["memory/USER.md".to_owned()],
        refusals: 1,
        outage_since: Some(second(3)),
        ..TurnNotes::default()
    };
    let asked = StepCommit {
        messages: vec![Body::line("an answer"), told("joined")],
        usage: Some(usage(100, true)),
        notes: notes.clone(),
        ..step(&claim, &turn)
    };
    story.store.commit_step(&asked).await?;
    let reviewed = StepCommit {
        messages: vec![Body::line("another")],
        usage: Some(usage(999, false)),
        notes: notes.clone(),
        ..step(&claim, &turn)
    };
    story.store.commit_step(&reviewed).await?;
    let loaded = story.store.load(claim.conversation, Seq(0)).await?;
    assert_eq!(loaded.turn.context("no turn")?.notes, notes);
    let counted = loaded.counted.context("no count")?;
    assert_eq!(counted, (usage(100, true).tokens, Seq(2)));
    let status = story.store.status(claim.conversation).await?;
    assert_eq!(status.tokens, Some(usage(100, true).tokens));
    Ok(())
}

/// By the end of the turn that it was for, and by the next one's beginning.
pub async fn a_request_to_stop_is_taken_back(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let (claim, turn, _) = begun(&story, "5").await?;
    let (stop, _) = story.accept(commanded(story.bot, "5", 2, "stop")).await?;
    story.store.settle_command(stop, &[], true, second(2)).await?;
    story.store.commit_step(&step(&claim, &turn)).await?;
    assert!(story.store.stop_requested(claim.conversation).await?);
    let end = StepCommit { end: Some(TurnEnd::Stopped), ..step(&claim, &turn) };
    story.store.commit_step(&end).await?;
    assert!(!story.store.stop_requested(claim.conversation).await?);
    Ok(())
}

/// In a chat by the platform's order, between chats by what was stored first.
pub async fn waiting_rows_come_in_order(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let (_, conversation) = story.say("a", 8).await?;
    story.accept(observed(story.bot, "a", 7)).await?;
    story.say("a", 100).await?;
    story.say("a", 9).await?;
    story.say("b", 1).await?;
    let orders: Vec<i64> = story
        .store
        .pending(conversation)
        .await?
        .iter()
        .map(|pending| match &pending.what {
            PendingWhat::Said { inbound, .. } | PendingWhat::Observed { inbound, .. } => {
                inbound.order
            }
            PendingWhat::Note { .. } => -1,
        })
        .collect();
    assert_eq!(orders, [7, 8, 9, 100]);
    Ok(())
}

/// A group may talk for a year before it speaks to its bot.
pub async fn of_lines_said_nearby_only_the_newest_wait(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let (_, conversation) = story.say("a", 1).await?;
    let most = i64::from(OBSERVED_WAITING);
    for order in 2..most + 12 {
        story.accept(observed(story.bot, "a", order)).await?;
    }
    let waiting = story.store.pending(conversation).await?;
    let orders: Vec<i64> = waiting
        .iter()
        .filter_map(|pending| match &pending.what {
            PendingWhat::Observed { inbound, .. } => Some(inbound.order),
            _ => None,
        })
        .collect();
    assert_eq!(orders, (12..most + 12).collect::<Vec<_>>());
    assert_eq!(waiting.len(), orders.len() + 1, "what opens a turn waits on");
    Ok(())
}

/// What was only overheard opens nothing, and a command neither.
pub async fn open_work_is_what_opens_a_turn_or_stands_open(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    story.accept(observed(story.bot, "quiet", 1)).await?;
    story.accept(commanded(story.bot, "quiet", 2, "status")).await?;
    assert_eq!(story.store.open_work().await?, []);

    let (_, waits) = story.say("5", 1).await?;
    story.say("5", 2).await?;
    let (claim, turn, _) = begun(&story, "6").await?;
    let work = |conversation, held_by, turn_open, waiting: &[&str]| OpenWork {
        conversation,
        held_by,
        turn_open,
        waiting: waiting.iter().map(|name| (process(name), account())).collect(),
    };
    let one = Some(process("one"));
    let expected = [work(waits, None, false, &["one"]), work(claim.conversation, one, true, &[])];
    assert_eq!(story.store.open_work().await?, expected);

    let mut from_two = said(story.bot, "6", 2);
    from_two.accepted_by = process("two");
    story.accept(from_two).await?;
    assert_eq!(story.store.open_work().await?[1].waiting, [(process("two"), account())]);
    let end = StepCommit { end: Some(TurnEnd::Done), ..step(&claim, &turn) };
    story.store.commit_step(&end).await?;
    assert!(!story.store.open_work().await?[1].turn_open);
    Ok(())
}

fn cut(claim: &Claim, turn: &OpenTurn) -> Cut {
    Cut {
        claim: claim.clone(),
        at: second(30),
        head: (None, told("what was before")),
        kept: vec![(Some(turn.id), Body::line("kept"))],
        archived_to: Seq(1),
        deliveries: vec![answer("5", "a cut was made")],
    }
}

/// The turn goes on; what was before is not loaded any more.
pub async fn a_cut_begins_a_new_episode(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let (claim, turn, _) = begun(&story, "5").await?;
    let messages = vec![Body::line("kept")];
    let usage = Some(usage(100, true));
    let asked = StepCommit { messages, usage, ..step(&claim, &turn) };
    story.store.commit_step(&asked).await?;
    story.store.cut(&cut(&claim, &turn)).await?;

    let loaded = story.store.load(claim.conversation, Seq(0)).await?;
    assert_eq!((loaded.episode_from, loaded.counted), (Seq(3), None));
    assert_eq!(loaded.turn.as_ref(), Some(&turn));
    let found: Vec<_> = loaded
        .messages
        .iter()
        .map(|message| (message.seq.0, message.turn, message.body.clone()))
        .collect();
    let expected = [(3, None, told("what was before")), (4, Some(turn.id), Body::line("kept"))];
    assert_eq!(found, expected);
    let next = StepCommit { messages: vec![Body::line("on")], ..step(&claim, &turn) };
    assert_eq!(story.store.commit_step(&next).await?.messages[0].seq, Seq(5));
    assert_eq!(story.store.next_delivery(&process("one"), &[account()]).await?, Some(second(30)));
    Ok(())
}

/// Copies are no new messages.
pub async fn a_cut_counts_as_nothing_new_said(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let (claim, turn, _) = begun(&story, "5").await?;
    story.store.cut(&cut(&claim, &turn)).await?;
    story.store.cut(&cut(&claim, &turn)).await?;
    let status = story.store.status(claim.conversation).await?;
    assert_eq!((status.messages, status.episode_messages, status.episodes), (1, 2, 3));
    Ok(())
}

/// Only those whose message is in the turn.
pub async fn places_of_an_open_turn_are_at_work(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    story.say("waits", 1).await?;
    assert_eq!(story.store.places_at_work().await?, []);
    begun(&story, "5").await?;
    begun(&story, "6").await?;
    assert_eq!(story.store.places_at_work().await?, [chat("5"), chat("6")]);
    Ok(())
}

/// Nobody sees typing for a turn whose bot is gone.
pub async fn a_turn_that_nobody_holds_is_not_at_work(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let (inbox, conversation) = story.say("5", 1).await?;
    let claim = story.claim(conversation, "one").await?;
    story.open(&claim, &[inbox]).await?;
    assert_eq!(story.store.places_at_work().await?, [chat("5")]);
    story.store.release(&claim, true).await?;
    assert_eq!(story.store.places_at_work().await?, []);
    Ok(())
}
