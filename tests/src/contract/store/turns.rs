//! Conversations and turns.

use anyhow::{Context, Result};
use atlas_core::ids::{InboxId, Seq};
use atlas_core::message::{Body, Message};
use atlas_core::ports::{
    Claim, Cut, OBSERVED_WAITING, OpenTurn, OpenWork, PendingWhat, StepCommit, StoreError, Tokens,
    TurnEnd, TurnNotes, Usage,
};

use super::{
    Database, Story, account, answer, chat, commanded, observed, process, said, second, step, told,
};

/// A claimed conversation with an open turn.
pub(super) async fn begun(story: &Story, place: &str) -> Result<(Claim, OpenTurn, Message)> {
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
    story.store.accept(&[observed(story.bot, "a", most + 11)]).await?;
    assert_eq!(story.store.pending(conversation).await?, waiting, "it is there already");
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

pub(super) fn cut(claim: &Claim, turn: &OpenTurn) -> Cut {
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

/// And those whose message waits where somebody is at work: it may take a while until its turn opens.
pub async fn places_of_an_open_turn_are_at_work(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    story.say("waits", 1).await?;
    let (_, taken_up) = story.say("taken up", 1).await?;
    assert_eq!(story.store.places_at_work().await?, []);
    begun(&story, "5").await?;
    begun(&story, "6").await?;
    assert_eq!(story.store.places_at_work().await?, [chat("5"), chat("6")]);
    let claim = story.claim(taken_up, "one").await?;
    assert_eq!(story.store.places_at_work().await?, [chat("5"), chat("6"), chat("taken up")]);
    story.store.release(&claim, true).await?;
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
