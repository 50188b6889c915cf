//! Who may talk: strangers who ask, guests, limits.

use std::time::Duration;

use anyhow::{Context, Result};
use atlas_core::access::{Rate, Standing};
use atlas_core::event::{CommandLine, Inbound};
use atlas_core::ids::{DeliveryId, Person};
use atlas_core::ports::{
    Accepted, Admission, Counts, Disposition, Door, Guest, Limit, NewDelivery, NewInbox,
    PairingRequest, PendingWhat, Store,
};
use chrono::{DateTime, TimeDelta, Utc};

use super::{
    Database, Story, account, chat, conversation_with, event, inbound, observed, owner, process,
    said, second,
};

const HOUR: Duration = Duration::from_secs(3_600);

fn person(id: &str) -> Person {
    Person { platform: "telegram".into(), id: id.into() }
}

fn line(place: &str, text: &str) -> NewDelivery {
    NewDelivery { id: DeliveryId::new(), ..NewDelivery::notice(chat(place), text) }
}

/// A stranger's message at this second, with the code that they would be told.
fn knocking(id: &str, at: i64, code: &str) -> NewInbox {
    let request = PairingRequest {
        person: person(id),
        name: format!("name of {id}"),
        code_hash: code.to_owned(),
        expires: second(at + 3_600),
        line: line(id, code),
    };
    let ignored = Disposition::Ignored { why: "from a stranger".to_owned() };
    let key = format!("{id}/{at}");
    NewInbox { at: second(at), door: Door::Knock(request), ..event(&key, ignored) }
}

/// What is on its way out: to whom, and what.
async fn told(store: &dyn Store, at: i64) -> Result<Vec<(String, String)>> {
    let mut all = Vec::new();
    loop {
        let claimed =
            store.claim_deliveries(&process("one"), &[account()], second(at), 100).await?;
        if claimed.is_empty() {
            return Ok(all);
        }
        for delivery in claimed {
            let settled = atlas_core::ports::Settlement::Sent;
            store.settle(delivery.new.id, delivery.fence, &settled, second(at)).await?;
            all.push((delivery.new.to.chat.0, delivery.new.text));
        }
    }
}

fn pair(to: &str, text: &str) -> (String, String) {
    (to.to_owned(), text.to_owned())
}

/// The second line comes a day later, and a duplicate tells nothing.
pub async fn a_stranger_is_told_one_code_a_day(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let first = knocking("7", 0, "a");
    story.accept(first.clone()).await?;
    assert_eq!(story.store.accept(&[first]).await?, [Accepted::Duplicate]);
    for at in [1, 4_000, 86_399] {
        story.accept(knocking("7", at, "b")).await?;
    }
    assert_eq!(told(&*story.store, 86_399).await?, [pair("7", "a")]);
    // Not even a process that begins anew forgets it.
    let again = database.open().await?;
    again.accept(&[knocking("7", 86_400, "c")]).await?;
    assert_eq!(told(&*again, 86_401).await?, [pair("7", "c")]);
    Ok(())
}

/// Its code counts no more; those of the others do.
pub async fn of_those_who_wait_the_oldest_of_three_gives_way(
    database: &dyn Database,
) -> Result<()> {
    let story = Story::begin(database).await?;
    for (n, code) in ["a", "b", "c", "d"].into_iter().enumerate() {
        story.accept(knocking(&n.to_string(), i64::try_from(n)?, code)).await?;
    }
    let waiting = story.store.guests(second(10)).await?.waiting;
    let names: Vec<&str> = waiting.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["name of 1", "name of 2", "name of 3"]);
    assert_eq!(waiting[0].place, chat("1"));
    assert_eq!(story.store.allow_guest("a", None, "", second(10)).await?, Admission::Wrong);
    let let_in = story.store.allow_guest("b", None, "", second(10)).await?;
    assert!(matches!(let_in, Admission::LetIn(_)), "{let_in:?}");
    Ok(())
}

/// They are welcomed once; the same hand may give the code in again, and no other.
pub async fn a_code_lets_its_person_in_once(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    story.accept(knocking("7", 0, "a")).await?;
    assert!(!story.store.is_guest(&person("7")).await?);
    let guest = Guest { person: person("7"), name: "name of 7".to_owned(), since: second(1) };
    let by = owner();
    for at in [1, 2] {
        let came = story.store.allow_guest("a", Some(&by), "welcome", second(at)).await?;
        assert_eq!(came, Admission::LetIn(guest.clone()));
    }
    let other = story.store.allow_guest("a", Some(&person("8")), "welcome", second(3)).await?;
    assert_eq!(other, Admission::Wrong);
    assert_eq!(told(&*story.store, 9).await?, [pair("7", "a"), pair("7", "welcome")]);
    let again = database.open().await?;
    assert!(again.is_guest(&person("7")).await?);
    let elsewhere = Person { platform: "discord".into(), ..person("7") };
    assert!(!again.is_guest(&elsewhere).await?, "an id is a platform's");
    let guests = again.guests(second(3)).await?;
    assert_eq!((guests.waiting, guests.let_in), (Vec::new(), vec![guest]));
    Ok(())
}

/// An hour, and not a second more.
pub async fn a_strangers_code_has_its_time(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    story.accept(knocking("7", 0, "a")).await?;
    let late = story.store.allow_guest("a", None, "", second(3_600)).await?;
    assert_eq!(late, Admission::Wrong);
    assert_eq!(story.store.guests(second(3_600)).await?.waiting, []);
    let in_time = story.store.allow_guest("a", None, "", second(3_599)).await?;
    assert!(matches!(in_time, Admission::LetIn(_)), "{in_time:?}");
    Ok(())
}

/// Of one sender: others, and the command line, are listened to.
pub async fn five_wrong_codes_of_strangers_lock_their_sender_out(
    database: &dyn Database,
) -> Result<()> {
    let story = Story::begin(database).await?;
    story.accept(knocking("7", 0, "a")).await?;
    let (by, store) = (owner(), &story.store);
    for n in 0..5 {
        assert_eq!(store.allow_guest("no", Some(&by), "", second(n)).await?, Admission::Wrong);
    }
    assert_eq!(store.allow_guest("a", Some(&by), "", second(9)).await?, Admission::LockedOut);
    for _ in 0..9 {
        assert_eq!(store.allow_guest("no", None, "", second(9)).await?, Admission::Wrong);
    }
    let other = store.allow_guest("a", Some(&person("8")), "", second(9)).await?;
    assert!(matches!(other, Admission::LetIn(_)), "{other:?}");
    // Whoever guesses an owner's code gets no line either.
    for n in 0..5 {
        store.redeem_pairing("no", &person("9"), second(n)).await?;
    }
    story.accept(knocking("9", 10, "b")).await?;
    assert_eq!(store.guests(second(11)).await?.waiting, []);
    Ok(())
}

/// And is a stranger then, who may ask again on another day.
pub async fn a_guest_can_be_put_out_again(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    story.accept(knocking("7", 0, "a")).await?;
    story.store.allow_guest("a", None, "", second(1)).await?;
    assert!(story.store.remove_guest(&person("7")).await?);
    assert!(!story.store.remove_guest(&person("7")).await?);
    assert!(!story.store.is_guest(&person("7")).await?);
    assert_eq!(story.store.allow_guest("a", None, "", second(2)).await?, Admission::Wrong);
    story.accept(knocking("7", 86_400, "b")).await?;
    assert_eq!(story.store.guests(second(86_401)).await?.waiting.len(), 1);
    Ok(())
}

/// A guest's message, held to so many an hour of theirs and of the chat's.
fn counted(story: &Story, id: &str, place: &str, order: i64, most: [u32; 2]) -> NewInbox {
    let inbound = inbound(place, order);
    let to = conversation_with(story.bot, place);
    let disposition = Disposition::Turn { to, standing: Standing::Guest, inbound };
    let limit = |of, most, text: &str| Limit {
        of,
        rate: Rate { most, within: HOUR },
        notice: Some(line(place, text)),
    };
    let limits = vec![
        limit(Counts::Person, most[0], "enough of you"),
        limit(Counts::Chat, most[1], "enough here"),
    ];
    let door = Door::Counted { by: person(id), place: chat(place), limits };
    NewInbox { at: second(order), door, ..event(&format!("{place}/{id}/{order}"), disposition) }
}

/// What waits in the chat's conversation: whether each would open a turn.
async fn opens(story: &Story, place: &str) -> Result<Vec<bool>> {
    let (_, conversation) = story.accept(observed(story.bot, place, 1_000_000)).await?;
    let waiting = story.store.pending(conversation.context("a conversation")?).await?;
    let opens = |what: &PendingWhat| matches!(what, PendingWhat::Said { .. });
    Ok(waiting.iter().rev().skip(1).rev().map(|row| opens(&row.what)).collect())
}

/// Told once, kept as a line said nearby, and the window slides.
pub async fn over_a_limit_a_message_is_kept_and_not_answered(
    database: &dyn Database,
) -> Result<()> {
    let story = Story::begin(database).await?;
    for at in [0, 10, 20, 30, 3_600, 3_601] {
        story.accept(counted(&story, "7", "a", at, [2, 99])).await?;
    }
    assert_eq!(opens(&story, "a").await?, [true, true, false, false, true, false]);
    assert_eq!(told(&*story.store, 9_000).await?, [pair("a", "enough of you")]);
    Ok(())
}

/// In one batch, in another chat, and in a process that begins anew.
pub async fn a_limit_is_a_person_s_wherever_they_write(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let batch = [
        counted(&story, "7", "a", 0, [3, 99]),
        counted(&story, "7", "b", 1, [3, 99]),
        counted(&story, "8", "a", 2, [3, 99]),
    ];
    story.store.accept(&batch).await?;
    assert_eq!(story.store.accept(&batch).await?, [Accepted::Duplicate; 3], "which count once");
    let again = database.open().await?;
    again.accept(&[counted(&story, "7", "a", 3, [3, 99])]).await?;
    again.accept(&[counted(&story, "7", "b", 4, [3, 99])]).await?;
    assert_eq!(opens(&story, "a").await?, [true, true, true]);
    assert_eq!(opens(&story, "b").await?, [true, false]);
    Ok(())
}

/// The owner's messages neither count nor are held to it; other chats go on.
pub async fn a_chat_has_a_limit_of_its_own(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    for (n, id) in ["7", "8", "9"].into_iter().enumerate() {
        story.accept(said(story.bot, "a", 50 + i64::try_from(n)?)).await?;
        story.accept(counted(&story, id, "a", i64::try_from(n)?, [9, 2])).await?;
        story.accept(counted(&story, id, "b", i64::try_from(n)?, [9, 9])).await?;
    }
    let answered = opens(&story, "a").await?.into_iter().filter(|&opens| opens).count();
    assert_eq!(answered, 3 + 2);
    assert_eq!(opens(&story, "b").await?, [true, true, true]);
    assert_eq!(told(&*story.store, 9).await?, [pair("a", "enough here")]);
    Ok(())
}

/// And so is what it would have been answered with.
pub async fn a_command_over_a_limit_is_ignored(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    story.accept(counted(&story, "7", "a", 0, [1, 99])).await?;
    let mut command = counted(&story, "7", "a", 1, [1, 99]);
    if let Disposition::Turn { to, standing, inbound } = command.disposition {
        let line = CommandLine { name: "status".to_owned(), rest: String::new() };
        let inbound = Inbound { command: Some(line), ..inbound };
        command.disposition = Disposition::Command { to, standing, inbound };
    }
    story.accept(command).await?;
    assert_eq!(story.store.pending_commands().await?, []);
    let mut refused = counted(&story, "7", "a", 2, [1, 99]);
    refused.disposition = Disposition::Ignored { why: "they may not".to_owned() };
    refused.deliveries = vec![line("a", "you may not")];
    story.accept(refused).await?;
    assert_eq!(told(&*story.store, 9).await?, [pair("a", "enough of you")]);
    Ok(())
}

/// Costs no more after many messages.
pub async fn a_window_looks_at_no_older_message(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let at = |n: i64| -> DateTime<Utc> { second(0) - TimeDelta::days(1) + TimeDelta::seconds(n) };
    let old: Vec<NewInbox> = (0..200)
        .map(|n| NewInbox { at: at(n), ..counted(&story, "7", "a", n, [u32::MAX, u32::MAX]) })
        .collect();
    story.store.accept(&old).await?;
    story.accept(counted(&story, "7", "a", 1_000, [1, 1])).await?;
    assert_eq!(opens(&story, "a").await?.last(), Some(&true));
    Ok(())
}
