//! The way out.

use anyhow::{Context, Result};
use atlas_core::ids::{AccountId, ChatKey, PlatformChat, PlatformMessage};
use atlas_core::ports::{
    Delivery, DeliveryKind, NewDelivery, PendingWhat, Settlement, StepCommit, StoreError, TurnEnd,
};

use super::{Database, Story, account, answer, chat, commanded, observed, process, second, step};

async fn claimed(story: &Story, at: i64) -> Result<Vec<Delivery>> {
    Ok(story.store.claim_deliveries(&process("one"), &[account()], second(at), 99).await?)
}

async fn settled(story: &Story, delivery: &Delivery, settlement: &Settlement) -> Result<()> {
    let (id, fence) = (delivery.new.id, delivery.fence);
    Ok(story.store.settle(id, fence, settlement, second(50)).await?)
}

fn texts(deliveries: &[Delivery]) -> Vec<&str> {
    deliveries.iter().map(|delivery| &*delivery.new.text).collect()
}

fn retry(at: i64, unknown: bool) -> Settlement {
    Settlement::Retry { at: second(at), reason: "busy".to_owned(), unknown }
}

/// One after the other, each as it was decided, and one stored twice is sent once.
pub async fn a_chat_s_line_goes_head_first(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let line = [answer("5", "first"), answer("5", "second"), answer("5", "third")];
    story.store.enqueue(&line, second(1)).await?;
    story.store.enqueue(&line[..1], second(2)).await?;
    let mut seen = Vec::new();
    while let Some(delivery) = claimed(&story, 9).await?.pop() {
        assert_eq!((delivery.created_at, delivery.attempts), (second(1), 0));
        assert_eq!((delivery.sent.len(), delivery.unsettled_since), (0, None));
        settled(&story, &delivery, &Settlement::Sent).await?;
        seen.push(delivery.new);
    }
    assert_eq!(seen, line);
    assert_eq!(story.store.next_delivery(&process("one"), &[account()]).await?, None);
    Ok(())
}

/// An earlier message that is tried again later blocks the later ones of its chat.
pub async fn a_head_that_waits_holds_up_its_own_chat_only(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let line = [answer("5", "first"), answer("5", "second"), answer("6", "other")];
    story.store.enqueue(&line, second(1)).await?;
    let heads = claimed(&story, 2).await?;
    assert_eq!(texts(&heads), ["first", "other"]);
    settled(&story, &heads[0], &retry(100, false)).await?;
    settled(&story, &heads[1], &Settlement::Sent).await?;
    assert_eq!(texts(&claimed(&story, 99).await?), [""; 0]);
    assert_eq!(story.store.next_delivery(&process("one"), &[account()]).await?, Some(second(100)));
    let again = claimed(&story, 100).await?;
    assert_eq!((texts(&again), again[0].attempts), (vec!["first"], 1));
    assert_eq!(
        story.store.next_delivery(&process("one"), &[account()]).await?,
        None,
        "its line is being sent"
    );
    Ok(())
}

/// Not even of the same process, and not through another one.
pub async fn a_claimed_head_is_nobody_else_s(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let other = database.open().await?;
    let line: Vec<NewDelivery> = (0..30).map(|n| answer(&n.to_string(), &n.to_string())).collect();
    story.store.enqueue(&line, second(1)).await?;
    let (one, two, accounts) = (process("one"), process("two"), [account()]);
    let (mine, theirs) = tokio::join!(
        story.store.claim_deliveries(&one, &accounts, second(2), 20),
        other.claim_deliveries(&two, &accounts, second(2), 20),
    );
    let (mine, theirs) = (mine?, theirs?);
    let mut all = [texts(&mine), texts(&theirs)].concat();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 30, "{} and {}", mine.len(), theirs.len());
    assert_eq!(texts(&claimed(&story, 3).await?), [""; 0]);
    Ok(())
}

/// Each process sends where it has the account.
pub async fn other_accounts_are_left_alone(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let mut elsewhere = answer("5", "elsewhere");
    elsewhere.to.account = "discord".into();
    story.store.enqueue(&[elsewhere], second(1)).await?;
    assert_eq!(texts(&claimed(&story, 9).await?), [""; 0]);
    assert_eq!(story.store.next_delivery(&process("one"), &[account()]).await?, None);
    assert_eq!(story.store.next_delivery(&process("one"), &[]).await?, None);
    let discord: AccountId = "discord".into();
    assert_eq!(
        story.store.next_delivery(&process("one"), &[discord, account()]).await?,
        Some(second(1))
    );
    Ok(())
}

/// And one chat never fills the limit alone.
pub async fn the_longest_waiting_chats_come_first(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    for (at, place) in [(3, "late"), (1, "early"), (1, "early"), (2, "middle")] {
        story.store.enqueue(&[answer(place, place)], second(at)).await?;
    }
    let first = story.store.claim_deliveries(&process("one"), &[account()], second(9), 2).await?;
    assert_eq!(texts(&first), ["early", "middle"]);
    assert_eq!(texts(&claimed(&story, 9).await?), ["late"]);
    Ok(())
}

/// Since the claim stamps the try before anything is sent.
pub async fn a_try_that_was_never_settled_may_have_arrived(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    story.store.enqueue(&[answer("5", "x")], second(1)).await?;
    claimed(&story, 2).await?;
    story.store.free(&process("one")).await?;
    let again = claimed(&story, 9).await?;
    assert_eq!((again[0].unsettled_since, again[0].attempts), (Some(second(2)), 1));
    story.store.free(&process("one")).await?;
    let third = claimed(&story, 20).await?;
    assert_eq!((third[0].unsettled_since, third[0].attempts), (Some(second(2)), 2));
    Ok(())
}

/// A later try that certainly failed says nothing of the earlier one.
pub async fn a_doubt_stays_until_the_part_arrives(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    story.store.enqueue(&[answer("5", "x")], second(1)).await?;
    let first = claimed(&story, 2).await?;
    settled(&story, &first[0], &retry(3, true)).await?;
    let next = claimed(&story, 4).await?;
    assert_eq!(next[0].unsettled_since, Some(second(2)));
    settled(&story, &next[0], &retry(5, false)).await?;
    let third = claimed(&story, 6).await?;
    assert_eq!((third[0].unsettled_since, third[0].attempts), (Some(second(2)), 2));
    story.store.part_sent(third[0].new.id, third[0].fence, &"m1".into()).await?;
    settled(&story, &third[0], &retry(7, false)).await?;
    let last = claimed(&story, 8).await?;
    assert_eq!((last[0].unsettled_since, last[0].attempts), (None, 0));
    Ok(())
}

/// A clean stop leaves no doubt.
pub async fn what_is_given_back_counts_as_no_try(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    story.store.enqueue(&[answer("5", "x")], second(1)).await?;
    let first = claimed(&story, 2).await?;
    settled(&story, &first[0], &Settlement::GivenBack).await?;
    assert_eq!(story.store.next_delivery(&process("one"), &[account()]).await?, Some(second(1)));
    let again = claimed(&story, 3).await?;
    assert_eq!((again[0].attempts, again[0].unsettled_since), (0, None));
    assert!(again[0].fence > first[0].fence);
    Ok(())
}

/// And each part has its own tries.
pub async fn parts_that_arrived_are_remembered(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    story.store.enqueue(&[answer("5", "x")], second(1)).await?;
    let first = claimed(&story, 2).await?;
    let (id, fence) = (first[0].new.id, first[0].fence);
    story.store.attempting(id, fence, second(3)).await?;
    story.store.part_sent(id, fence, &"m\"1".into()).await?;
    story.store.attempting(id, fence, second(4)).await?;
    story.store.part_sent(id, fence, &"m2".into()).await?;
    story.store.attempting(id, fence, second(5)).await?;
    story.store.free(&process("one")).await?;
    let again = claimed(&story, 6).await?;
    let parts: [PlatformMessage; 2] = ["m\"1".into(), "m2".into()];
    assert_eq!(again[0].sent, parts);
    assert_eq!((again[0].unsettled_since, again[0].attempts), (Some(second(5)), 1));
    Ok(())
}

/// Whoever was overtaken learns it.
pub async fn a_stale_claim_settles_nothing(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    story.store.enqueue(&[answer("5", "x")], second(1)).await?;
    let old = claimed(&story, 2).await?.pop().context("nothing claimed")?;
    story.store.free(&process("one")).await?;
    let (id, fence) = (old.new.id, old.fence);
    let new = claimed(&story, 3).await?.pop().context("nothing claimed")?;
    let lost = Err(StoreError::ClaimLost);
    assert_eq!(story.store.attempting(id, fence, second(4)).await, lost);
    assert_eq!(story.store.part_sent(id, fence, &"m".into()).await, lost);
    let note = Some("never".to_owned());
    let notice = Some(answer("6", "never"));
    let closed = Settlement::Closed { reason: "old".to_owned(), note, notice };
    for settlement in [Settlement::Sent, Settlement::GivenBack, retry(9, true), closed] {
        assert_eq!(story.store.settle(id, fence, &settlement, second(4)).await, lost);
    }
    settled(&story, &new, &Settlement::Sent).await?;
    let twice = story.store.settle(id, new.fence, &Settlement::Sent, second(5)).await;
    assert_eq!(twice, lost);
    assert_eq!(
        story.store.next_delivery(&process("one"), &[account()]).await?,
        None,
        "no notice was kept"
    );
    Ok(())
}

/// The bot at its next turn, the owner elsewhere, in the transaction that gives the message up.
pub async fn a_closed_delivery_tells_the_bot_and_the_owner_once(
    database: &dyn Database,
) -> Result<()> {
    let story = Story::begin(database).await?;
    let (inbox, conversation) = story.say("5", 1).await?;
    let claim = story.claim(conversation, "one").await?;
    let (turn, _) = story.open(&claim, &[inbox]).await?;
    let answered = NewDelivery { conversation: Some(conversation), ..answer("5", "x") };
    let end =
        StepCommit { deliveries: vec![answered], end: Some(TurnEnd::Done), ..step(&claim, &turn) };
    story.store.commit_step(&end).await?;
    let delivery = claimed(&story, 30).await?.pop().context("nothing claimed")?;
    let notice = NewDelivery {
        kind: DeliveryKind::Notice,
        reply_to: Some("interaction 7".into()),
        ..answer("6", "it was not sent")
    };
    let closed = Settlement::Closed {
        reason: "blocked".to_owned(),
        note: Some("the answer never arrived".to_owned()),
        notice: Some(notice.clone()),
    };
    settled(&story, &delivery, &closed).await?;

    assert_eq!(story.store.open_work().await?, [], "a note opens no turn");
    let waiting = story.store.pending(conversation).await?;
    let [note] = &waiting[..] else { anyhow::bail!("{waiting:?}") };
    assert_eq!(note.what, PendingWhat::Note { text: "the answer never arrived".to_owned() });
    let next = claimed(&story, 60).await?;
    assert_eq!(next.iter().map(|delivery| &delivery.new).collect::<Vec<_>>(), [&notice]);
    let (_, message) = story.open(&claim, &[note.inbox]).await?;
    assert_eq!(message.seq.0, 2);
    assert_eq!(story.store.pending(conversation).await?, []);
    Ok(())
}

/// All of a line in order, due or not; a line that somebody is sending is not left over.
pub async fn what_is_left_over_comes_whole(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let lines =
        [answer("gone", "1"), answer("gone", "2"), answer("kept", "3"), answer("busy", "4")];
    story.store.enqueue(&lines, second(1)).await?;
    let chats = story.store.chats_with_deliveries(&account()).await?;
    let names: [PlatformChat; 3] = ["busy".into(), "gone".into(), "kept".into()];
    assert_eq!(chats, names);
    for delivery in claimed(&story, 2).await? {
        if delivery.new.to != chat("busy") {
            settled(&story, &delivery, &retry(9_999, false)).await?;
        }
    }
    let wanted = ["gone".into(), "busy".into()];
    let left = story.store.claim_left_over(&process("two"), &wanted, &account(), second(3)).await?;
    assert_eq!(texts(&left), ["1", "2"]);
    let (id, fence) = (left[0].new.id, left[0].fence);
    story.store.settle(id, fence, &Settlement::Sent, second(4)).await?;
    Ok(())
}

/// Two terminals of one home share their account, and neither prints the other's answers.
pub async fn a_terminal_claims_only_its_own_chat(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let accounts = [AccountId::from("terminal")];
    let to = |process: &str| {
        let place = ChatKey { account: accounts[0].clone(), chat: process.into() };
        NewDelivery { to: place, ..answer("", process) }
    };
    story.store.enqueue(&[to("one"), to("two"), to("gone")], second(1)).await?;
    let claims = |name| story.store.claim_deliveries(name, &accounts, second(2), 9);
    let (one, two) = (process("one"), process("two"));
    assert_eq!(texts(&claims(&two).await?), ["two"]);
    assert_eq!(texts(&claims(&one).await?), ["one"]);
    assert_eq!(story.store.chats_with_deliveries(&accounts[0]).await?.len(), 3);
    Ok(())
}

/// Waiting, at work, on its way: each is noise. What was overheard is not.
pub async fn a_place_is_quiet_when_nothing_is_under_way(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let place = chat("5");
    story.accept(observed(story.bot, "5", 1)).await?;
    let (elsewhere, _) = story.accept(commanded(story.bot, "6", 1, "status")).await?;
    assert!(story.store.is_quiet(&place).await?);
    assert!(!story.store.is_quiet(&chat("6")).await?);
    story.store.settle_command(elsewhere, &[], false, second(1)).await?;
    assert!(story.store.is_quiet(&chat("6")).await?);

    let (inbox, conversation) = story.say("5", 2).await?;
    assert!(!story.store.is_quiet(&place).await?, "it waits");
    let claim = story.claim(conversation, "one").await?;
    let (turn, _) = story.open(&claim, &[inbox]).await?;
    assert!(!story.store.is_quiet(&place).await?, "it is at work");
    let end = StepCommit {
        deliveries: vec![answer("5", "x")],
        end: Some(TurnEnd::Done),
        ..step(&claim, &turn)
    };
    story.store.commit_step(&end).await?;
    assert!(!story.store.is_quiet(&place).await?, "the answer is on its way");
    for delivery in claimed(&story, 60).await? {
        settled(&story, &delivery, &Settlement::Sent).await?;
    }
    assert!(story.store.is_quiet(&place).await?);
    Ok(())
}

/// It must not wait until the clock is there again. What the platform refused keeps its wait.
pub async fn what_was_decided_before_the_clock_was_set_back_is_due(
    database: &dyn Database,
) -> Result<()> {
    let story = Story::begin(database).await?;
    story.store.enqueue(&[answer("5", "from the future")], second(3_600)).await?;
    let first = claimed(&story, 0).await?;
    assert_eq!(texts(&first), ["from the future"]);
    let retry = Settlement::Retry { at: second(30), reason: "busy".to_owned(), unknown: false };
    story.store.settle(first[0].new.id, first[0].fence, &retry, second(1)).await?;
    assert_eq!(texts(&claimed(&story, 2).await?), [""; 0]);
    assert_eq!(texts(&claimed(&story, 30).await?), ["from the future"]);
    Ok(())
}
