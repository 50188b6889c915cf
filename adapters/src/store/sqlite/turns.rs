//! The journal: turns opened, steps committed whole, episodes cut.

use atlas_core::ids::{InboxId, Seq, TurnId};
use atlas_core::message::{Body, Message};
use atlas_core::ports::{Claim, Cut, NewTurn, OpenTurn, StepCommit, StoreError};
use chrono::{DateTime, Utc};
use sqlx::SqliteConnection;

use super::error::store_error;
use super::outbox;
use crate::store::sql::{Record, Word, as_stored, json, micros, number};

/// The next numbers of a conversation, given to whoever holds it.
struct Place {
    bot: i64,
    first: i64,
}

async fn place(
    connection: &mut SqliteConnection,
    sql: &'static str,
    claim: &Claim,
    messages: usize,
    ends: bool,
) -> Result<Place, StoreError> {
    let row = sqlx::query(sql)
        .bind(claim.conversation.0)
        .bind(claim.holder.as_str())
        .bind(claim.fence.0)
        .bind(number(messages as u64))
        .bind(ends)
        .fetch_optional(connection)
        .await
        .map_err(store_error)?
        .ok_or(StoreError::ClaimLost)?;
    let row = Record::new(&row, "conversations")?;
    Ok(Place { bot: row.get("bot_id")?, first: row.get("first")? })
}

const OPEN: &str = "\
UPDATE conversations SET next_seq = next_seq + $4, said = said + $4
WHERE id = $1 AND holder = $2 AND fence = $3
RETURNING id, bot_id, next_seq - $4 AS first";

/// The first row is the turn, the others are the inbound rows that it took. Where a command to stop came
/// after every message of theirs, it was for this turn.
pub(super) const INSERT_TURN: &str = "\
INSERT INTO turns (bot_id, conversation_id, standing, opened_at, notes)
VALUES ($1, $2, $3, $4, $5) RETURNING id;
INSERT INTO messages (bot_id, conversation_id, seq, turn_id, at, body)
VALUES ($1, $2, $6, last_insert_rowid(), $4, $7);
UPDATE inbox SET turn_id = last_insert_rowid()
WHERE id IN (SELECT value FROM json_each($8))
AND conversation_id = $2 AND open = 1 AND turn_id IS NULL AND kind <> 'command'
RETURNING id;
UPDATE conversations SET stop_requested = (
    SELECT count(*) > 0 AND count(*) = count(line) FROM inbox
    WHERE id IN (SELECT value FROM json_each($8)) AND kind = 'turn'
)
WHERE id = $2";

pub(super) async fn open(
    connection: &mut SqliteConnection,
    turn: NewTurn,
) -> Result<(OpenTurn, Message), StoreError> {
    let place = place(connection, OPEN, &turn.claim, 1, false).await?;
    let notes = turn.notes;
    let rows: Vec<i64> = sqlx::query_scalar(INSERT_TURN)
        .bind(place.bot)
        .bind(turn.claim.conversation.0)
        .bind(turn.standing.word())
        .bind(micros(turn.at))
        .bind(json(&notes)?)
        .bind(place.first)
        .bind(json(&turn.body)?)
        .bind(json(&turn.taken)?)
        .fetch_all(connection)
        .await
        .map_err(store_error)?;
    let Some((&id, taken)) = rows.split_first() else {
        return Err(StoreError::Failed("a turn was stored and has no number".to_owned()));
    };
    all_taken(taken.len(), &turn.taken)?;
    let (id, at) = (TurnId(id), as_stored(turn.at));
    let message = Message { seq: Seq(place.first), turn: Some(id), at, body: turn.body };
    Ok((OpenTurn { id, standing: turn.standing, opened_at: at, notes }, message))
}

/// A row belongs to one turn and never to two.
fn all_taken(taken: usize, wanted: &[InboxId]) -> Result<(), StoreError> {
    if taken == wanted.len() {
        return Ok(());
    }
    let ids: Vec<String> = wanted.iter().map(InboxId::to_string).collect();
    Err(StoreError::Failed(format!(
        "of the rows {} of table inbox, only {taken} wait for a turn of this conversation",
        ids.join(", ")
    )))
}

const STEP: &str = "\
UPDATE conversations SET next_seq = next_seq + $4, said = said + $4, attempts = 0,
    stop_requested = CASE WHEN $5 THEN 0 ELSE stop_requested END
WHERE id = $1 AND holder = $2 AND fence = $3
RETURNING id, bot_id, next_seq - $4 AS first";

/// As with [`INSERT_TURN`]: the turn, then the rows that joined it. When the turn is over, nothing
/// of it is open any more.
pub(super) const UPDATE_TURN: &str = "\
UPDATE turns SET notes = $3, ended = $4, ended_at = CASE WHEN $4 IS NULL THEN NULL ELSE $5 END
WHERE id = $1 AND conversation_id = $2 AND ended_at IS NULL RETURNING id;
UPDATE inbox SET turn_id = $1
WHERE id IN (SELECT value FROM json_each($6))
AND conversation_id = $2 AND open = 1 AND turn_id IS NULL AND kind <> 'command'
RETURNING id;
UPDATE inbox SET open = 0, settled_at = $5 WHERE $4 IS NOT NULL AND turn_id = $1 AND open = 1";

pub(super) async fn commit_step(
    connection: &mut SqliteConnection,
    step: StepCommit,
) -> Result<Vec<Message>, StoreError> {
    let (turn, claim) = (step.turn, &step.claim);
    let place = place(connection, STEP, claim, step.messages.len(), step.end.is_some()).await?;
    let rows: Vec<i64> = sqlx::query_scalar(UPDATE_TURN)
        .bind(turn.0)
        .bind(claim.conversation.0)
        .bind(json(&step.notes)?)
        .bind(step.end.map(Word::word))
        .bind(micros(step.at))
        .bind(json(&step.taken)?)
        .fetch_all(&mut *connection)
        .await
        .map_err(store_error)?;
    let Some((_, taken)) = rows.split_first() else {
        return Err(StoreError::Failed(format!("turn {turn} is not open in this conversation")));
    };
    all_taken(taken.len(), &step.taken)?;
    count(connection, &step, &place).await?;
    outbox::insert(connection, &step.deliveries, step.at).await?;
    let messages = step.messages.into_iter().map(|body| (Some(turn), body)).collect();
    insert(connection, claim, &place, step.at, messages, false).await
}

pub(super) const COUNT: &str = "\
INSERT INTO usage (bot_id, conversation_id, turn_id, at, model, purpose,
    input, cached, cache_write, output)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);
UPDATE episodes SET counted = $11, counted_to = $12
WHERE $13 AND conversation_id = $2 AND closed_at IS NULL";

/// What the step cost, and up to which message the count tells the transcript's size: the answer
/// that the call gave, which is the step's first; without one, what stood before.
async fn count(
    connection: &mut SqliteConnection,
    step: &StepCommit,
    place: &Place,
) -> Result<(), StoreError> {
    let Some(usage) = &step.usage else { return Ok(()) };
    let answer = step.messages.iter().position(|body| matches!(body, Body::Assistant { .. }));
    let counted_to = match answer {
        Some(index) => place.first + number(index as u64),
        None => place.first - 1,
    };
    sqlx::query(COUNT)
        .bind(place.bot)
        .bind(step.claim.conversation.0)
        .bind(step.turn.0)
        .bind(micros(step.at))
        .bind(usage.model.as_str())
        .bind(&*usage.purpose)
        .bind(number(usage.tokens.input))
        .bind(number(usage.tokens.cached))
        .bind(number(usage.tokens.cache_write))
        .bind(number(usage.tokens.output))
        .bind(json(&usage.tokens)?)
        .bind(counted_to)
        .bind(usage.anchors)
        .execute(connection)
        .await
        .map_err(store_error)?;
    Ok(())
}

async fn insert(
    connection: &mut SqliteConnection,
    claim: &Claim,
    place: &Place,
    at: DateTime<Utc>,
    bodies: Vec<(Option<TurnId>, Body)>,
    carried: bool,
) -> Result<Vec<Message>, StoreError> {
    let mut messages = Vec::with_capacity(bodies.len());
    for (seq, (turn, body)) in (place.first..).zip(bodies) {
        sqlx::query(
            "INSERT INTO messages (bot_id, conversation_id, seq, turn_id, at, carried, body) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(place.bot)
        .bind(claim.conversation.0)
        .bind(seq)
        .bind(turn.map(|turn| turn.0))
        .bind(micros(at))
        .bind(carried)
        .bind(json(&body)?)
        .execute(&mut *connection)
        .await
        .map_err(store_error)?;
        messages.push(Message { seq: Seq(seq), turn, at: as_stored(at), body });
    }
    Ok(messages)
}

/// What a cut carries over was said before, and counts as nothing new.
const CUT: &str = "\
UPDATE conversations SET next_seq = next_seq + $4
WHERE id = $1 AND holder = $2 AND fence = $3
RETURNING id, bot_id, next_seq - $4 AS first";

pub(super) const NEXT_EPISODE: &str = "\
UPDATE episodes SET closed_at = $3, archived_to = $4
WHERE conversation_id = $2 AND closed_at IS NULL;
INSERT INTO episodes (bot_id, conversation_id, number, first_seq, opened_at)
SELECT $1, $2, max(number) + 1, $5, $3 FROM episodes WHERE bot_id = $1 AND conversation_id = $2";

pub(super) async fn cut(connection: &mut SqliteConnection, cut: Cut) -> Result<(), StoreError> {
    let mut carried = vec![cut.head];
    carried.extend(cut.kept);
    let place = place(connection, CUT, &cut.claim, carried.len(), false).await?;
    sqlx::query(NEXT_EPISODE)
        .bind(place.bot)
        .bind(cut.claim.conversation.0)
        .bind(micros(cut.at))
        .bind(cut.archived_to.0)
        .bind(place.first)
        .execute(&mut *connection)
        .await
        .map_err(store_error)?;
    insert(connection, &cut.claim, &place, cut.at, carried, true).await?;
    outbox::insert(connection, &cut.deliveries, cut.at).await
}
