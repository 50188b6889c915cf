//! The journal: turns opened, steps committed whole, episodes cut.
//!
//! Each is one order to the database, since the way there and back costs more than the statements.
//! What they tell comes as rows of a word and a number ([`Told`]).

use atlas_core::ids::{InboxId, Seq, TurnId};
use atlas_core::message::{Body, Message};
use atlas_core::ports::{
    Committed, Cut, NewTurn, OpenTurn, Opened, StepCommit, StoreError, Tokens,
};

use super::error::store_error;
use super::line::Line;
use super::outbox::{self, insert_deliveries};
use crate::store::sql::{Word, as_stored, json, micros, number};

/// What the statements of one order tell of themselves.
struct Told(Vec<(String, i64)>);

impl Told {
    /// The first number under a word.
    fn first(&self, word: &str) -> Option<i64> {
        self.0.iter().find(|(told, _)| told == word).map(|(_, number)| *number)
    }

    /// The number of the first message. Nobody holds the conversation by this claim where it is
    /// missing.
    fn first_seq(&self) -> Result<i64, StoreError> {
        self.first("seq").ok_or(StoreError::ClaimLost)
    }

    /// A row belongs to one turn and never to two.
    fn took_all(&self, wanted: &[InboxId]) -> Result<(), StoreError> {
        let taken = self.0.iter().filter(|(word, _)| word == "inbox").count();
        if taken == wanted.len() {
            return Ok(());
        }
        let ids: Vec<String> = wanted.iter().map(InboxId::to_string).collect();
        Err(StoreError::Failed(format!(
            "of the rows {} of table inbox, only {taken} wait for a turn of this conversation",
            ids.join(", ")
        )))
    }
}

/// Where the claim is lost nothing is inserted, and the caller's transaction takes the rest back. Where
/// a command to stop came after every message that the turn took, it was for this turn.
pub(super) const OPEN: &str = "\
UPDATE conversations SET next_seq = next_seq + 1, said = said + 1
WHERE id = $1 AND holder = $2 AND fence = $3
RETURNING 'seq' AS what, next_seq - 1 AS value;

INSERT INTO turns (bot_id, conversation_id, standing, opened_at, notes)
SELECT bot_id, id, $4, $5, $6 FROM conversations WHERE id = $1 AND holder = $2 AND fence = $3
RETURNING 'turn' AS what, id AS value;

INSERT INTO messages (bot_id, conversation_id, seq, turn_id, at, body)
SELECT bot_id, id, next_seq - 1, last_insert_rowid(), $5, $7 FROM conversations
WHERE id = $1 AND holder = $2 AND fence = $3;

UPDATE inbox SET turn_id = last_insert_rowid()
WHERE id IN (SELECT value FROM json_each($8))
AND conversation_id = $1 AND open = 1 AND turn_id IS NULL AND kind <> 'command'
RETURNING 'inbox' AS what, id AS value;

UPDATE conversations SET stop_requested = (
    SELECT count(*) > 0 AND count(*) = count(line) FROM inbox
    WHERE id IN (SELECT value FROM json_each($8)) AND kind = 'turn'
)
WHERE id = $1 RETURNING 'stop' AS what, stop_requested AS value";

pub(super) async fn open(connection: &mut Line, turn: NewTurn) -> Result<Opened, StoreError> {
    let notes = turn.notes;
    let told = sqlx::query_as(OPEN)
        .bind(turn.claim.conversation.0)
        .bind(turn.claim.holder.as_str())
        .bind(turn.claim.fence.0)
        .bind(turn.standing.word())
        .bind(micros(turn.at))
        .bind(json(&notes)?)
        .bind(json(&turn.body)?)
        .bind(json(&turn.taken)?)
        .fetch_all(connection)
        .await;
    let told = told.map(Told).map_err(store_error)?;
    let seq = told.first_seq()?;
    told.took_all(&turn.taken)?;
    let Some(id) = told.first("turn").map(TurnId) else {
        return Err(StoreError::Failed("a turn was stored and has no number".to_owned()));
    };
    let at = as_stored(turn.at);
    Ok(Opened {
        turn: OpenTurn { id, standing: turn.standing, opened_at: at, notes },
        message: Message { seq: Seq(seq), turn: Some(id), at, body: turn.body },
        stop_requested: told.first("stop") == Some(1),
    })
}

/// When the turn is over, nothing of it is open any more. The count of tokens covers the transcript up
/// to the answer that the call gave; without one, what stood before (`$17` counts from the step's
/// first message).
pub(super) const STEP: &str = concat!(
    "\
UPDATE conversations SET
    next_seq = next_seq + json_array_length($4), said = said + json_array_length($4),
    attempts = 0, stop_requested = CASE WHEN $7 IS NULL THEN stop_requested ELSE 0 END
WHERE id = $1 AND holder = $2 AND fence = $3
RETURNING 'seq' AS what, next_seq - json_array_length($4) AS value;

UPDATE turns SET notes = $6, ended = $7, ended_at = CASE WHEN $7 IS NULL THEN NULL ELSE $8 END
WHERE id = $5 AND conversation_id = $1 AND ended_at IS NULL
RETURNING 'turn' AS what, id AS value;

UPDATE inbox SET turn_id = $5
WHERE id IN (SELECT value FROM json_each($9))
AND conversation_id = $1 AND open = 1 AND turn_id IS NULL AND kind <> 'command'
RETURNING 'inbox' AS what, id AS value;

UPDATE inbox SET open = 0, settled_at = $8 WHERE $7 IS NOT NULL AND turn_id = $5 AND open = 1;

INSERT INTO messages (bot_id, conversation_id, seq, turn_id, at, body)
SELECT c.bot_id, c.id, c.next_seq - json_array_length($4) + m.key, $5, $8, m.value
FROM conversations c CROSS JOIN json_each($4) m
WHERE c.id = $1 AND c.holder = $2 AND c.fence = $3;

INSERT INTO usage (bot_id, conversation_id, turn_id, at, model, purpose,
    input, cached, cache_write, output)
SELECT bot_id, id, $5, $8, $10, $11, $12, $13, $14, $15
FROM conversations WHERE id = $1 AND $10 IS NOT NULL;

UPDATE episodes SET counted = $16, counted_to = (
    SELECT next_seq - json_array_length($4) + $17 FROM conversations WHERE id = $1
)
WHERE $18 AND conversation_id = $1 AND closed_at IS NULL;

UPDATE conversations SET holder = NULL, held_until = NULL
WHERE $20 AND id = $1 AND holder = $2 AND fence = $3 AND NOT EXISTS (
    SELECT 1 FROM inbox
    WHERE conversation_id = $1 AND open = 1 AND turn_id IS NULL AND kind = 'turn'
)
RETURNING 'given back' AS what, id AS value;

",
    insert_deliveries!("$19", "$8")
);

pub(super) async fn commit_step(
    connection: &mut Line,
    step: StepCommit,
) -> Result<Committed, StoreError> {
    let (turn, claim, usage) = (step.turn, &step.claim, step.usage.as_ref());
    let answer = step.messages.iter().position(|body| matches!(body, Body::Assistant { .. }));
    let tokens = usage.map(|usage| usage.tokens);
    let count = |of: fn(&Tokens) -> u64| tokens.as_ref().map(of).map(number);
    let told = sqlx::query_as(STEP)
        .bind(claim.conversation.0)
        .bind(claim.holder.as_str())
        .bind(claim.fence.0)
        .bind(json(&step.messages.iter().map(json).collect::<Result<Vec<_>, _>>()?)?)
        .bind(turn.0)
        .bind(json(&step.notes)?)
        .bind(step.end.map(Word::word))
        .bind(micros(step.at))
        .bind(json(&step.taken)?)
        .bind(usage.map(|usage| usage.model.as_str()))
        .bind(usage.map(|usage| &*usage.purpose))
        .bind(count(|tokens| tokens.input))
        .bind(count(|tokens| tokens.cached))
        .bind(count(|tokens| tokens.cache_write))
        .bind(count(|tokens| tokens.output))
        .bind(tokens.as_ref().map(json).transpose()?)
        .bind(answer.map_or(-1, |index| number(index as u64)))
        .bind(usage.is_some_and(|usage| usage.anchors))
        .bind(outbox::columns(&step.deliveries)?)
        .bind(step.give_back)
        .fetch_all(&mut *connection)
        .await;
    let told = told.map(Told).map_err(store_error)?;
    let first = told.first_seq()?;
    if told.first("turn").is_none() {
        return Err(StoreError::Failed(format!("turn {turn} is not open in this conversation")));
    }
    told.took_all(&step.taken)?;
    let at = as_stored(step.at);
    let message = |(seq, body)| Message { seq: Seq(seq), turn: Some(turn), at, body };
    Ok(Committed {
        messages: (first..).zip(step.messages).map(message).collect(),
        given_back: told.first("given back").is_some(),
    })
}

/// What a cut carries over (`$4`: pairs of a turn and a body) was said before, and counts as nothing
/// new.
pub(super) const CUT: &str = "\
UPDATE conversations SET next_seq = next_seq + json_array_length($4)
WHERE id = $1 AND holder = $2 AND fence = $3
RETURNING 'seq' AS what, next_seq - json_array_length($4) AS value;

UPDATE episodes SET closed_at = $5, archived_to = $6
WHERE conversation_id = $1 AND closed_at IS NULL;

INSERT INTO episodes (bot_id, conversation_id, number, first_seq, opened_at)
SELECT c.bot_id, c.id,
    (SELECT max(number) + 1 FROM episodes WHERE bot_id = c.bot_id AND conversation_id = c.id),
    c.next_seq - json_array_length($4), $5
FROM conversations c WHERE c.id = $1;

INSERT INTO messages (bot_id, conversation_id, seq, turn_id, at, carried, body)
SELECT c.bot_id, c.id, c.next_seq - json_array_length($4) + m.key, m.value ->> 0, $5, 1, m.value ->> 1
FROM conversations c CROSS JOIN json_each($4) m
WHERE c.id = $1 AND c.holder = $2 AND c.fence = $3";

pub(super) async fn cut(connection: &mut Line, cut: Cut) -> Result<(), StoreError> {
    let carried = [cut.head].into_iter().chain(cut.kept);
    let pair = |(turn, body): (Option<TurnId>, Body)| Ok((turn.map(|turn| turn.0), json(&body)?));
    let carried = carried.map(pair).collect::<Result<Vec<(Option<i64>, String)>, StoreError>>()?;
    let told = sqlx::query_as(CUT)
        .bind(cut.claim.conversation.0)
        .bind(cut.claim.holder.as_str())
        .bind(cut.claim.fence.0)
        .bind(json(&carried)?)
        .bind(micros(cut.at))
        .bind(cut.archived_to.0)
        .fetch_all(&mut *connection)
        .await;
    told.map(Told).map_err(store_error)?.first_seq()?;
    outbox::insert(connection, &cut.deliveries, cut.at).await
}
