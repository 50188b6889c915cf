//! The way in.

use anyhow::{Context, Result};
use atlas_core::access::Standing;
use atlas_core::audience::Audience;
use atlas_core::event::{ChatKind, Inbound};
use atlas_core::ids::{BotId, Seq};
use atlas_core::message::{Body, Call};
use atlas_core::ports::{
    Accepted, ConversationKey, ConversationSpec, Cursor, Disposition, NewInbox, PendingWhat,
    StoreError,
};

use super::{
    Database, Story, account, answer, chat, commanded, conversation_with, event, inbound, process,
    said, second, step, told,
};

/// And is what waits.
pub async fn an_event_is_stored_once(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let (inbox, conversation) = story.say("5", 1).await?;
    assert_eq!(story.store.accept(&[said(story.bot, "5", 1)]).await?, [Accepted::Duplicate]);
    let waiting = story.store.pending(conversation).await?;
    let [pending] = &waiting[..] else { anyhow::bail!("{waiting:?}") };
    assert_eq!((pending.inbox, pending.at), (inbox, second(0)));
    assert_eq!(pending.accepted_by, process("one"));
    let what =
        PendingWhat::Said { place: chat("5"), standing: Standing::Owner, inbound: inbound("5", 1) };
    assert_eq!(pending.what, what);
    Ok(())
}

/// Not even where it would now belong to another conversation, or twice in one batch.
pub async fn a_duplicate_changes_nothing(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let (_, conversation) = story.say("5", 1).await?;
    let to = conversation_with(story.bot, "elsewhere");
    let inbound = Inbound { sent_at: second(999), ..inbound("elsewhere", 1) };
    let disposition = Disposition::Turn { to, standing: Standing::Owner, inbound };
    let repeat = NewInbox { key: "5/1".to_owned(), ..event("5/1", disposition) };
    let twice = said(story.bot, "5", 2);
    let answers = story.store.accept(&[repeat, twice.clone(), twice]).await?;
    assert_eq!(answers[0], Accepted::Duplicate);
    assert!(matches!(answers[1], Accepted::Stored { .. }));
    assert_eq!(answers[2], Accepted::Duplicate);
    assert_eq!(story.store.private_place(story.bot).await?, Some(chat("5")));
    let work = story.store.open_work().await?;
    assert_eq!(work.len(), 1);
    assert_eq!(work[0].conversation, conversation);
    Ok(())
}

/// One that cannot be stored takes the others with it.
pub async fn events_are_stored_all_or_none(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let (_, conversation) = story.say("5", 1).await?;
    let unknown = BotId(story.bot.0 + 100);
    let refused = story.store.accept(&[said(story.bot, "5", 2), said(unknown, "5", 3)]).await;
    assert!(matches!(refused, Err(StoreError::Failed(_))), "{refused:?}");
    assert_eq!(story.store.pending(conversation).await?.len(), 1);
    assert!(story.say("5", 2).await.is_ok());
    Ok(())
}

/// Ignored and unreadable events are known, and wait for nobody.
pub async fn what_nobody_answers_is_kept_without_a_conversation(
    database: &dyn Database,
) -> Result<()> {
    let story = Story::begin(database).await?;
    let ignored = event("1", Disposition::Ignored { why: "a stranger".to_owned() });
    let unreadable = event("2", Disposition::Unreadable { why: "no JSON".to_owned() });
    for event in [ignored, unreadable] {
        let (_, conversation) = story.accept(event.clone()).await?;
        assert_eq!(conversation, None);
        assert_eq!(story.store.accept(&[event]).await?, [Accepted::Duplicate]);
    }
    assert_eq!(story.store.open_work().await?, []);
    Ok(())
}

fn spoken_to(bot: BotId, order: i64, audience: Audience) -> NewInbox {
    let to = ConversationSpec { bot, key: ConversationKey::Direct, audience };
    let inbound = inbound("5", order);
    let disposition = Disposition::Turn { to, standing: Standing::Owner, inbound };
    event(&order.to_string(), disposition)
}

/// Who could read it once could read it all.
pub async fn a_conversation_becomes_shared_and_never_private_again(
    database: &dyn Database,
) -> Result<()> {
    let story = Story::begin(database).await?;
    let events = [(1, Audience::Private), (2, Audience::Shared), (3, Audience::Private)];
    let mut seen = Vec::new();
    for (order, audience) in events {
        let (_, conversation) = story.accept(spoken_to(story.bot, order, audience)).await?;
        let loaded = story.store.load(conversation.context("no conversation")?, Seq(0)).await?;
        assert_eq!((loaded.key, loaded.bot), (ConversationKey::Direct, story.bot));
        seen.push(loaded.audience);
    }
    assert_eq!(seen, [Audience::Private, Audience::Shared, Audience::Shared]);
    Ok(())
}

/// If and only if the event is stored now.
pub async fn answers_without_a_turn_go_out_once(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let ignored = || event("1", Disposition::Ignored { why: "a stranger".to_owned() });
    let hello = || NewInbox { deliveries: vec![answer("5", "your code")], ..ignored() };
    story.accept(hello()).await?;
    story.store.accept(&[hello()]).await?;
    let claimed = story.store.claim_deliveries(&process("one"), &[account()], second(1), 9).await?;
    assert_eq!(claimed.len(), 1);
    assert_eq!(claimed[0].new.text, "your code");
    Ok(())
}

/// With its answers, whoever comes first.
pub async fn a_command_is_answered_once(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let (inbox, conversation) = story.accept(commanded(story.bot, "5", 1, "status")).await?;
    let waiting = story.store.pending_commands().await?;
    let [command] = &waiting[..] else { anyhow::bail!("{waiting:?}") };
    assert_eq!((command.inbox, Some(command.conversation)), (inbox, conversation));
    assert_eq!((command.bot, &command.place), (story.bot, &chat("5")));
    assert_eq!(command.inbound.command.as_ref().map(|line| &*line.name), Some("status"));
    let answers = || [answer("5", "all is well")];
    assert!(story.store.settle_command(inbox, &answers(), false, second(1)).await?);
    assert!(!story.store.settle_command(inbox, &answers(), false, second(2)).await?);
    assert_eq!(story.store.pending_commands().await?, []);
    assert_eq!(story.store.status(command.conversation).await?.queue, 1);
    assert_eq!(story.store.open_work().await?, [], "a command opens no turn");
    Ok(())
}

/// Before a turn is open there is none to be asked; what waits is marked instead.
pub async fn a_command_can_stop_only_an_open_turn(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let (inbox, conversation) = story.say("5", 1).await?;
    let (early, _) = story.accept(commanded(story.bot, "5", 2, "stop")).await?;
    story.store.settle_command(early, &[], true, second(1)).await?;
    assert!(!story.store.stop_requested(conversation).await?);
    let claim = story.claim(conversation, "one").await?;
    story.open(&claim, &[inbox]).await?;
    let (stop, _) = story.accept(commanded(story.bot, "5", 3, "stop")).await?;
    story.store.settle_command(stop, &[], true, second(2)).await?;
    assert!(story.store.stop_requested(conversation).await?);
    assert!(story.store.load(conversation, Seq(0)).await?.stop_requested);
    Ok(())
}

/// By the time of writing; groups, guests and terminals stand behind.
pub async fn the_private_place_is_the_owner_s_last_direct_chat(
    database: &dyn Database,
) -> Result<()> {
    let story = Story::begin(database).await?;
    let terminal = NewInbox { platform: "terminal".into(), ..said(story.bot, "tty", 50) };
    story.accept(terminal).await?;
    assert_eq!(story.store.private_place(story.bot).await?, Some(chat("tty")));
    story.say("a", 20).await?;
    story.say("b", 30).await?;
    story.say("a", 10).await?;
    let group = Inbound { kind: ChatKind::Group, ..inbound("group", 40) };
    let spec = || conversation_with(story.bot, "group");
    let group = Disposition::Turn { to: spec(), standing: Standing::Owner, inbound: group };
    story.accept(event("group", group)).await?;
    let guest = inbound("guest", 40);
    let guest = Disposition::Turn { to: spec(), standing: Standing::Guest, inbound: guest };
    story.accept(event("guest", guest)).await?;
    assert_eq!(story.store.private_place(story.bot).await?, Some(chat("b")));
    assert_eq!(story.store.private_place(BotId(story.bot.0 + 1)).await?, None);
    Ok(())
}

/// Its conversation, what waits, and what is on its way. Twice is as good as once.
pub async fn a_chat_that_moves_takes_everything_along(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let (_, conversation) = story.say("old", 1).await?;
    story.store.enqueue(&[answer("old", "on its way")], second(1)).await?;
    let moved = |key| event(key, Disposition::Moved { from: "old".into(), to: "new".into() });
    story.accept(moved("move")).await?;
    story.accept(moved("told again")).await?;
    story.store.move_chat(&account(), &"old".into(), &"new".into()).await?;

    let (_, later) = story.say("new", 2).await?;
    assert_eq!(later, conversation);
    let loaded = story.store.load(conversation, Seq(0)).await?;
    assert_eq!(loaded.key, ConversationKey::Chat(chat("new")));
    for pending in story.store.pending(conversation).await? {
        let PendingWhat::Said { place, .. } = pending.what else { anyhow::bail!("not said") };
        assert_eq!(place, chat("new"));
    }
    let out = story.store.claim_deliveries(&process("one"), &[account()], second(2), 9).await?;
    assert_eq!(out[0].new.to, chat("new"));
    assert_eq!(story.store.private_place(story.bot).await?, Some(chat("new")));
    assert!(story.store.is_quiet(&chat("old")).await?);
    Ok(())
}

/// Nothing is lost, whatever came first.
pub async fn a_chat_written_in_before_its_move_joins_the_older_conversation(
    database: &dyn Database,
) -> Result<()> {
    let story = Story::begin(database).await?;
    let (_, older) = story.say("old", 1).await?;
    let (_, younger) = story.say("new", 2).await?;
    assert_ne!(older, younger);
    story.store.move_chat(&account(), &"old".into(), &"new".into()).await?;
    assert_eq!(story.store.pending(older).await?.len(), 2);
    assert_eq!(story.store.pending(younger).await?.len(), 0);
    assert_eq!(story.say("new", 3).await?.1, older);
    Ok(())
}

/// They share a transaction, and nothing else.
pub async fn writers_who_fail_undo_nothing_of_the_others(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let unknown = BotId(story.bot.0 + 100);
    let events: Vec<NewInbox> =
        (0..40).map(|n| said(if n % 3 == 0 { unknown } else { story.bot }, "5", n)).collect();
    let calls = events.iter().map(|event| story.store.accept(std::slice::from_ref(event)));
    let answers = futures_util::future::join_all(calls).await;
    for (n, answer) in answers.iter().enumerate() {
        assert_eq!(answer.is_err(), n % 3 == 0, "event {n}: {answer:?}");
    }
    let work = story.store.open_work().await?;
    let waiting = story.store.pending(work[0].conversation).await?;
    assert_eq!(waiting.len(), 40 - 14);
    Ok(())
}

/// Newlines, NUL, quotes, emoji, and a model's own bytes.
pub async fn text_of_any_kind_comes_back_as_it_was(database: &dyn Database) -> Result<()> {
    let odd = "a\0b \"'; DROP TABLE inbox; -- 👩‍👩‍👧 \u{202e}\r\n\\u0000 ${x} $1";
    let story = Story::begin(database).await?;
    let (inbox, conversation) = story
        .accept(NewInbox {
            raw: odd.to_owned(),
            disposition: Disposition::Turn {
                to: conversation_with(story.bot, odd),
                standing: Standing::Guest,
                inbound: Inbound { text: odd.to_owned(), ..inbound(odd, 1) },
            },
            ..event(odd, Disposition::Ignored { why: odd.to_owned() })
        })
        .await?;
    let conversation = conversation.context("no conversation")?;
    let waiting = story.store.pending(conversation).await?;
    let PendingWhat::Said { inbound, place, .. } = &waiting[0].what else {
        anyhow::bail!("{waiting:?}")
    };
    assert_eq!((&*inbound.text, place), (odd, &chat(odd)));

    let claim = story.claim(conversation, "one").await?;
    let (turn, _) = story.open(&claim, &[inbox]).await?;
    let call = Call { id: odd.to_owned(), name: odd.to_owned(), arguments: odd.to_owned() };
    let body = Body::Assistant { text: odd.to_owned(), calls: vec![call], blocks: None };
    let mut step = step(&claim, &turn);
    step.messages = vec![body.clone(), told(odd)];
    step.deliveries = vec![answer(odd, odd)];
    story.store.commit_step(&step).await?;
    let messages = story.store.load(conversation, Seq(0)).await?.messages;
    assert_eq!((&messages[1].body, &messages[2].body), (&body, &told(odd)));
    let out = story.store.claim_deliveries(&process("one"), &[account()], second(30), 9).await?;
    assert_eq!((&*out[0].new.text, &out[0].new.to), (odd, &chat(odd)));
    Ok(())
}

/// A command to stop is for all that was said before it: of the same standing, or any for the owner.
pub async fn what_was_said_before_a_stop_opens_a_turn_that_ends(
    database: &dyn Database,
) -> Result<()> {
    let rows = [
        // Who gave the command, what was said after it, whether the turn of the owner's message ends.
        (Standing::Owner, false, true),
        (Standing::Guest, false, false),
        (Standing::Owner, true, false),
    ];
    for (number, (standing, later, ends)) in rows.into_iter().enumerate() {
        let (story, place) = (Story::begin(database).await?, number.to_string());
        let (inbox, conversation) = story.say(&place, 1).await?;
        let mut command = commanded(story.bot, &place, 2, "stop");
        if let Disposition::Command { standing: its, .. } = &mut command.disposition {
            *its = standing;
        }
        let (stop, _) = story.accept(command).await?;
        story.store.settle_command(stop, &[], true, second(1)).await?;
        let mut taken = vec![inbox];
        if later {
            taken.push(story.say(&place, 3).await?.0);
        }
        let claim = story.claim(conversation, "one").await?;
        story.open(&claim, &taken).await?;
        assert_eq!(story.store.stop_requested(conversation).await?, ends, "row {number}");
    }
    Ok(())
}

/// Each for itself, and no reading of a history takes another back.
pub async fn cursors_move_forward_only_and_are_their_accounts_own(
    database: &dyn Database,
) -> Result<()> {
    let story = Story::begin(database).await?;
    let cursor = |chat: &str, kind, read_up_to| Cursor { chat: chat.into(), kind, read_up_to };
    let (direct, group) = (ChatKind::Direct, ChatKind::Group);
    assert_eq!(story.store.cursors(&account()).await?, []);
    let first = [cursor("5", direct, 10), cursor("6", group, 20)];
    story.store.read_up_to(&account(), &first).await?;
    let second = [cursor("5", direct, 30), cursor("6", group, 19), cursor("7", group, i64::MAX)];
    story.store.read_up_to(&account(), &second).await?;
    story.store.read_up_to(&"another".into(), &[cursor("5", direct, 99)]).await?;
    let store = database.open().await?;
    let mut read = store.cursors(&account()).await?;
    read.sort_by(|one, other| one.chat.cmp(&other.chat));
    let expected = [cursor("5", direct, 30), cursor("6", group, 20), cursor("7", group, i64::MAX)];
    assert_eq!(read, expected);
    Ok(())
}
