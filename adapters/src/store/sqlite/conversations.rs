//! Conversations as they stand: the open episode, what waits, and what people are told of it.

use std::collections::{HashMap, VecDeque};

use atlas_core::ids::{BotId, ChatKey, ConversationId, InboxId, Seq, TurnId};
use atlas_core::message::Message;
use atlas_core::ports::{
    ConversationKey, Loaded, OpenTurn, Pending, PendingWhat, Status, StoreError,
};
use sqlx::sqlite::SqliteRow;

use super::readers::Readers;
use crate::store::sql::{Record, bad, instant, parse};

/// One row, whose last column is the open episode, each message as an array of its columns: hundreds of
/// rows would each be a message between two threads.
macro_rules! select_conversation {
    ($conversation:literal, $known:literal) => {
        concat!(
            "\
SELECT 'conversation' AS what, c.id, c.bot_id, c.account, c.chat, c.audience, c.stop_requested,
    e.first_seq, e.counted, e.counted_to, t.id AS turn_id, t.standing, t.opened_at, t.notes,
    (SELECT json_group_array(json_array(seq, turn_id, at, body)) FROM (
        SELECT seq, turn_id, at, body FROM messages
        WHERE bot_id = c.bot_id AND conversation_id = c.id AND seq >= max(e.first_seq, ",
            $known,
            " + 1)
        ORDER BY seq
    )) AS messages
FROM conversations c
JOIN episodes e ON e.conversation_id = c.id AND e.closed_at IS NULL
LEFT JOIN turns t ON t.conversation_id = c.id AND t.ended_at IS NULL
WHERE c.id = ",
            $conversation
        )
    };
}
pub(super) use select_conversation;

pub(super) const LOAD: &str = select_conversation!("$1", "$2");

pub(super) async fn load(
    readers: &Readers,
    conversation: ConversationId,
    known: Seq,
) -> Result<Loaded, StoreError> {
    let query = sqlx::query(LOAD).bind(conversation.0).bind(known.0);
    let row = readers.first(query).await?.ok_or_else(|| unknown(conversation))?;
    loaded(&row)
}

/// The conversation of a row of [`LOAD`].
pub(super) fn loaded(row: &SqliteRow) -> Result<Loaded, StoreError> {
    let row = Record::new(row, "conversations")?;
    let place = row.place()?;
    let key = if place.chat.as_str().is_empty() {
        ConversationKey::Direct
    } else {
        ConversationKey::Chat(place)
    };
    let counted_to = row.get::<Option<i64>>("counted_to")?.map(Seq);
    Ok(Loaded {
        id: ConversationId(row.get("id")?),
        bot: BotId(row.get("bot_id")?),
        key,
        audience: row.word("audience")?,
        episode_from: Seq(row.get("first_seq")?),
        messages: messages(&row)?,
        turn: open_turn(&row)?,
        counted: row.maybe_json("counted")?.zip(counted_to),
        stop_requested: row.get("stop_requested")?,
    })
}

fn open_turn(row: &Record<'_>) -> Result<Option<OpenTurn>, StoreError> {
    let Some(id) = row.get::<Option<i64>>("turn_id")? else { return Ok(None) };
    Ok(Some(OpenTurn {
        id: TurnId(id),
        standing: row.word("standing")?,
        opened_at: row.instant("opened_at")?,
        notes: row.json("notes")?,
    }))
}

fn messages(row: &Record<'_>) -> Result<Vec<Message>, StoreError> {
    let columns: Vec<(i64, Option<i64>, i64, String)> = row.json("messages")?;
    let message = |(seq, turn, at, body): (i64, Option<i64>, i64, String)| {
        let at = instant(at).map_err(|why| bad("messages", seq, "at", why))?;
        let body = parse(&body).map_err(|why| bad("messages", seq, "body", why))?;
        Ok(Message { seq: Seq(seq), turn: turn.map(TurnId), at, body })
    };
    columns.into_iter().map(message).collect()
}

pub(super) fn unknown(conversation: ConversationId) -> StoreError {
    StoreError::Failed(format!("there is no conversation {conversation}"))
}

macro_rules! select_waiting {
    ($conversation:literal) => {
        concat!(
            "\
SELECT 'inbox' AS what, id, account, chat, at, accepted_by, kind, standing, place_order, inbound, line
FROM inbox
WHERE conversation_id = ",
            $conversation,
            " AND open = 1 AND turn_id IS NULL AND kind <> 'command'
ORDER BY id"
        )
    };
}
pub(super) use select_waiting;

pub(super) const PENDING: &str = select_waiting!("$1");

pub(super) async fn pending(
    readers: &Readers,
    conversation: ConversationId,
) -> Result<Vec<Pending>, StoreError> {
    let rows = readers.all(sqlx::query(PENDING).bind(conversation.0)).await?;
    waiting(&rows)
}

/// What waits, of rows of [`PENDING`].
pub(super) fn waiting<'r>(
    rows: impl IntoIterator<Item = &'r SqliteRow>,
) -> Result<Vec<Pending>, StoreError> {
    let waiting = rows.into_iter().map(pending_row).collect::<Result<_, _>>()?;
    Ok(in_order(waiting))
}

fn pending_row(row: &SqliteRow) -> Result<Pending, StoreError> {
    let row = Record::new(row, "inbox")?;
    let kind: &str = row.get("kind")?;
    let what = match kind {
        "turn" => PendingWhat::Said {
            place: row.place()?,
            standing: row.word("standing")?,
            inbound: row.json("inbound")?,
        },
        "observed" => PendingWhat::Observed {
            place: row.place()?,
            standing: row.word("standing")?,
            inbound: row.json("inbound")?,
        },
        "note" => PendingWhat::Note { text: row.get("line")? },
        other => return Err(row.bad("kind", format!("{other:?} waits for no turn"))),
    };
    Ok(Pending {
        inbox: InboxId(row.get("id")?),
        at: row.instant("at")?,
        accepted_by: row.name("accepted_by")?,
        stopped: kind == "turn" && row.get::<Option<&str>>("line")?.is_some(),
        what,
    })
}

/// In a chat by the platform's order; between chats, and for notes, by what was stored first.
/// `waiting` comes in the order of storing.
fn in_order(waiting: Vec<Pending>) -> Vec<Pending> {
    let mut lines: HashMap<Option<ChatKey>, Vec<(i64, Pending)>> = HashMap::new();
    for pending in waiting {
        let (place, order) = match &pending.what {
            PendingWhat::Said { place, inbound, .. }
            | PendingWhat::Observed { place, inbound, .. } => (Some(place.clone()), inbound.order),
            PendingWhat::Note { .. } => (None, pending.inbox.0),
        };
        lines.entry(place).or_default().push((order, pending));
    }
    let mut lines: Vec<VecDeque<Pending>> = lines
        .into_values()
        .map(|mut line| {
            line.sort_by_key(|(order, pending)| (*order, pending.inbox));
            line.into_iter().map(|(_, pending)| pending).collect()
        })
        .collect();
    let mut ordered = Vec::new();
    let first = |line: &&mut VecDeque<Pending>| line.front().map(|head| head.inbox);
    while let Some(pending) = lines
        .iter_mut()
        .filter(|line| !line.is_empty())
        .min_by_key(first)
        .and_then(VecDeque::pop_front)
    {
        ordered.push(pending);
    }
    ordered
}

pub(super) const STOP_REQUESTED: &str = "SELECT stop_requested FROM conversations WHERE id = $1";

pub(super) async fn stop_requested(
    readers: &Readers,
    conversation: ConversationId,
) -> Result<bool, StoreError> {
    let query = sqlx::query(STOP_REQUESTED).bind(conversation.0);
    readers.value(query).await?.ok_or_else(|| unknown(conversation))
}

pub(super) const STATUS: &str = "\
SELECT c.id, c.said, c.next_seq - e.first_seq AS episode_messages, e.number AS episodes, e.counted,
    (SELECT count(*) FROM inbox
     WHERE conversation_id = c.id AND open = 1 AND turn_id IS NULL AND kind = 'turn') AS waiting,
    EXISTS (SELECT 1 FROM turns WHERE conversation_id = c.id AND ended_at IS NULL) AS turn_open,
    (SELECT count(*) FROM outbox WHERE open = 1) AS queue
FROM conversations c
JOIN episodes e ON e.conversation_id = c.id AND e.closed_at IS NULL
WHERE c.id = $1";

pub(super) async fn status(
    readers: &Readers,
    conversation: ConversationId,
) -> Result<Status, StoreError> {
    let query = sqlx::query(STATUS).bind(conversation.0);
    let row = readers.first(query).await?.ok_or_else(|| unknown(conversation))?;
    let row = Record::new(&row, "conversations")?;
    Ok(Status {
        messages: row.count("said")?,
        episode_messages: row.count("episode_messages")?,
        episodes: row.count("episodes")?,
        tokens: row.maybe_json("counted")?,
        waiting: row.count("waiting")?,
        turn_open: row.get("turn_open")?,
        queue: row.count("queue")?,
    })
}

/// A turn that nobody holds is not at work: its bot may be gone. What waits where somebody is at work is
/// taken up, or will be.
pub(super) const PLACES_AT_WORK: &str = "\
SELECT account, chat FROM inbox
WHERE open = 1 AND turn_id IS NOT NULL AND kind = 'turn' AND EXISTS (
    SELECT 1 FROM conversations c WHERE c.id = inbox.conversation_id AND c.holder IS NOT NULL
)
UNION
SELECT i.account, i.chat FROM conversations c CROSS JOIN inbox i ON i.conversation_id = c.id
WHERE c.holder IS NOT NULL
AND i.open = 1 AND i.turn_id IS NULL AND i.kind = 'turn' AND i.line IS NULL
ORDER BY account, chat";

pub(super) async fn places_at_work(readers: &Readers) -> Result<Vec<ChatKey>, StoreError> {
    let rows = readers.all(sqlx::query(PLACES_AT_WORK)).await?;
    rows.iter().map(|row| Record::named(row, "inbox", "of an open turn").place()).collect()
}

#[cfg(test)]
mod tests {
    use atlas_core::access::Standing;
    use atlas_core::event::{Addressed, ChatKind, Inbound, Sender};
    use chrono::DateTime;

    use super::*;

    fn said(inbox: i64, chat: &str, order: i64) -> Pending {
        let inbound = Inbound {
            lineage: vec![chat.into()],
            kind: ChatKind::Group,
            chat_name: None,
            message: order.to_string().into(),
            order,
            sender: Sender { person: None, name: String::new(), is_bot: false },
            text: String::new(),
            outside: false,
            files: Vec::new(),
            addressed: Addressed::No,
            command: None,
            sent_at: DateTime::UNIX_EPOCH,
        };
        let place = ChatKey { account: "tg".into(), chat: chat.into() };
        let what = PendingWhat::Said { place, standing: Standing::Owner, inbound };
        pending(inbox, what)
    }

    fn pending(inbox: i64, what: PendingWhat) -> Pending {
        let inbox = InboxId(inbox);
        let (at, accepted_by) = (DateTime::UNIX_EPOCH, "p".into());
        Pending { inbox, at, accepted_by, stopped: false, what }
    }

    fn ids(pending: &[Pending]) -> Vec<i64> {
        pending.iter().map(|pending| pending.inbox.0).collect()
    }

    #[test]
    fn a_chat_keeps_the_platform_s_order_and_chats_that_of_storing() {
        let note = pending(4, PendingWhat::Note { text: "x".to_owned() });
        // In chat a, message 8 was stored before message 7.
        let waiting =
            vec![said(1, "b", 90), said(2, "a", 8), said(3, "a", 7), note, said(5, "b", 10)];
        // Chat b begins with its message 10, which was stored last of all.
        assert_eq!(ids(&in_order(waiting)), [3, 2, 4, 5, 1]);
    }
}
