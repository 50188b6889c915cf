//! Transcripts that were at work a moment ago, kept so that the next turn reads only what is new.
//!
//! Nothing here has to be right for an answer to be right: messages are only ever added, each with a
//! number of its own, and a transcript that was kept counts as far as the store's open episode still
//! covers it. Everything else of a conversation is read anew at every turn.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::conversation::compaction::estimate;
use crate::ids::{ConversationId, Seq};
use crate::message::Message;
use crate::ports::Loaded;

/// Tokens kept, of all conversations: about 16 megabytes.
const MOST: u64 = 4_000_000;

/// The kept transcripts of a process.
#[derive(Debug, Default)]
pub struct Kept(Mutex<Shelf>);

#[derive(Debug, Default)]
struct Shelf {
    transcripts: HashMap<ConversationId, Transcript>,
    /// Tokens of all of them.
    tokens: u64,
    /// Counts what was kept, so that the oldest can be told.
    clock: u64,
}

#[derive(Debug)]
struct Transcript {
    kept_at: u64,
    tokens: u64,
    messages: Vec<Message>,
}

impl Kept {
    /// Takes what is kept of a conversation, the oldest first. Its next turn keeps it again.
    pub(crate) fn take(&self, id: ConversationId) -> Vec<Message> {
        self.shelf().remove(id)
    }

    /// Keeps the open episode's messages, all of them, in order. What was kept longest makes room.
    pub(crate) fn keep(&self, id: ConversationId, messages: Vec<Message>) {
        let mut shelf = self.shelf();
        shelf.remove(id);
        let tokens = messages.iter().map(|message| estimate(&message.body)).sum();
        if tokens > MOST {
            return;
        }
        while shelf.tokens + tokens > MOST {
            let oldest = shelf.transcripts.iter().min_by_key(|(_, kept)| kept.kept_at);
            let Some(oldest) = oldest.map(|(id, _)| *id) else { break };
            shelf.remove(oldest);
        }
        shelf.clock += 1;
        shelf.tokens += tokens;
        let kept_at = shelf.clock;
        shelf.transcripts.insert(id, Transcript { kept_at, tokens, messages });
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelf {
    fn remove(&mut self, id: ConversationId) -> Vec<Message> {
        let Some(kept) = self.transcripts.remove(&id) else { return Vec::new() };
        self.tokens -= kept.tokens;
        kept.messages
    }
}

/// The last message of these; the store gives those after it.
pub(crate) fn known(kept: &[Message]) -> Seq {
    kept.last().map_or(Seq(0), |message| message.seq)
}

/// Puts what was kept before what was loaded after it. What the open episode does not cover is left
/// out.
pub(crate) fn joined(mut kept: Vec<Message>, mut loaded: Loaded) -> Loaded {
    kept.retain(|message| message.seq >= loaded.episode_from);
    kept.append(&mut loaded.messages);
    loaded.messages = kept;
    loaded
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::audience::Audience;
    use crate::message::Body;
    use crate::ports::ConversationKey;

    fn messages(seqs: std::ops::Range<i64>) -> Vec<Message> {
        let at = DateTime::UNIX_EPOCH;
        let message = |n| Message { seq: Seq(n), turn: None, at, body: Body::note("x") };
        seqs.map(message).collect()
    }

    fn loaded(episode_from: i64, seqs: std::ops::Range<i64>) -> Loaded {
        Loaded {
            id: ConversationId(1),
            bot: crate::ids::BotId(1),
            key: ConversationKey::Direct,
            audience: Audience::Private,
            episode_from: Seq(episode_from),
            messages: messages(seqs),
            turn: None,
            counted: None,
            stop_requested: false,
        }
    }

    #[test]
    fn what_was_kept_and_what_is_new_are_the_episode() {
        let joined = joined(messages(3..6), loaded(3, 6..8));
        assert_eq!(joined.messages, messages(3..8));
    }

    #[test]
    fn what_another_process_cut_meanwhile_is_left_out() {
        let joined = joined(messages(3..6), loaded(7, 7..9));
        assert_eq!(joined.messages, messages(7..9));
    }

    #[test]
    fn the_oldest_transcript_makes_room_and_the_count_stays_true() {
        let long = |tokens: u64| {
            let text = "x".repeat(usize::try_from(tokens * 4).unwrap());
            vec![Message { body: Body::note(text), ..messages(0..1).remove(0) }]
        };
        let kept = Kept::default();
        for id in 1..=3 {
            kept.keep(ConversationId(id), long(MOST / 2 - 100));
        }
        kept.keep(ConversationId(3), messages(0..2));
        assert_eq!(kept.take(ConversationId(1)), []);
        assert_eq!(kept.take(ConversationId(2)), long(MOST / 2 - 100));
        assert_eq!(kept.take(ConversationId(3)), messages(0..2));
        assert_eq!(kept.shelf().tokens, 0);
        kept.keep(ConversationId(4), long(MOST));
        assert_eq!(kept.take(ConversationId(4)), []);
    }
}
