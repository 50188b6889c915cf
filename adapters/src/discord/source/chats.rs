//! The chats of one account: how far each was read, and whether what comes in may pass or waits until
//! the chat's backlog is read.
//!
//! A cursor stands for everything up to it. What merely comes in does not move it: after a break,
//! live messages arrive before anybody has read what was missed. It moves with the pages of the history,
//! and by a checkpoint while the session is proven continuous ([`Chats::checkpoint`]).

use std::collections::BTreeMap;

use atlas_core::event::ChatKind;
use atlas_core::ids::PlatformChat;
use atlas_core::ports::Cursor;

use super::super::decode::Head;
use super::super::place;
use super::directory::Channel;

/// What stands before the number of a server whose channels are known up to its cursor. Old servers
/// have a channel of their own number.
const GUILD: &str = "guild:";

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Chats {
    chats: BTreeMap<u64, Chat>,
    /// Up to which channel each server's are known: one that is newer was opened meanwhile.
    guilds: BTreeMap<u64, u64>,
    /// Moved, and not stored yet.
    moved: Vec<Cursor>,
    /// The highest number of a message that was heard: until now, and until the heartbeat before.
    highest: (u64, u64),
}

#[derive(Debug, Default)]
struct Chat {
    direct: bool,
    cursor: Option<u64>,
    state: State,
    waiting: Vec<Waiting>,
    /// The last live message that is stored, with everything that was heard before it.
    newest: u64,
    /// All of its history up to the first live message was read.
    whole: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Nobody has looked yet in this session.
    #[default]
    Unknown,
    /// It is being looked at, or its backlog read.
    Reading,
    /// What comes in passes.
    Read,
}

/// A live message that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    /// Its number.
    pub(super) message: u64,
    /// Byte for byte.
    pub(super) data: String,
}

/// What is to be done with a live message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Comes {
    /// It is stored now.
    Passes(Waiting),
    /// It waits for somebody who is at work already.
    Waits,
    /// It waits, and its chat is to be looked at.
    First,
}

impl Chats {
    /// Takes up what the store knows.
    pub(super) fn load(&mut self, cursors: Vec<Cursor>) {
        for cursor in cursors {
            let read_up_to = u64::try_from(cursor.read_up_to).unwrap_or_default();
            if let Some(guild) = cursor.chat.as_str().strip_prefix(GUILD).and_then(place::number) {
                self.guilds.insert(guild, read_up_to);
            } else if let Some(chat) = place::number(cursor.chat.as_str()) {
                let direct = cursor.kind == ChatKind::Direct;
                let chat = self.chats.entry(chat).or_default();
                *chat = Chat { direct, cursor: Some(read_up_to), ..Chat::default() };
            }
        }
    }

    /// A new session: what was missed before it is read first. Returns the DMs, which no list names.
    pub(super) fn begin(&mut self) -> Vec<u64> {
        self.highest = (0, 0);
        for chat in self.chats.values_mut() {
            chat.state = State::Unknown;
            chat.whole = false;
        }
        let direct = self.chats.iter().filter(|(_, chat)| chat.direct);
        direct.map(|(id, _)| *id).collect()
    }

    /// These are out of reach, and looked at anew when they are back.
    pub(super) fn lose(&mut self, chats: &[u64]) {
        for id in chats {
            if let Some(chat) = self.chats.get_mut(id) {
                chat.state = State::Unknown;
                chat.whole = false;
            }
        }
    }

    /// A message of this number was heard, whoever wrote it.
    pub(super) fn heard(&mut self, message: u64) {
        self.highest.0 = self.highest.0.max(message);
    }

    /// A live message came.
    pub(super) fn comes(&mut self, chat: u64, message: Waiting) -> Comes {
        self.heard(message.message);
        let chat = self.chats.entry(chat).or_default();
        if chat.state == State::Read {
            return Comes::Passes(message);
        }
        chat.waiting.push(message);
        if chat.state == State::Unknown && chat.waiting.len() == 1 {
            Comes::First
        } else {
            Comes::Waits
        }
    }

    /// Chats with messages that wait and that nobody looks at.
    pub(super) fn neglected(&self) -> Vec<u64> {
        let waits = |chat: &Chat| chat.state == State::Unknown && !chat.waiting.is_empty();
        self.chats.iter().filter(|(_, chat)| waits(chat)).map(|(id, _)| *id).collect()
    }

    /// The server that a waiting message was written on: None where none waits, and Some(None) in a DM.
    pub(super) fn guild_of_waiting(&self, chat: u64) -> Option<Option<u64>> {
        let waiting = self.chats.get(&chat)?.waiting.first()?;
        Some(Head::read(&waiting.data).and_then(|head| head.guild()))
    }

    /// Somebody looks at it.
    pub(super) fn look(&mut self, chat: u64) {
        self.chats.entry(chat).or_default().state = State::Reading;
    }

    /// Whether somebody has to: it was not looked at in this session.
    pub(super) fn is_unknown(&self, chat: u64) -> bool {
        self.chats.get(&chat).is_none_or(|chat| chat.state == State::Unknown)
    }

    /// Where the reading of its history begins; None where nothing was missed. A chat without cursor is
    /// given one: it starts at now, and at its own beginning if it was opened while nobody looked.
    pub(super) fn meet(&mut self, channel: &Channel, guild: Option<u64>) -> Option<u64> {
        let (id, last) = (channel.id.get(), channel.last_message());
        let opened_meanwhile = channel.newly_created
            || guild.and_then(|guild| self.guilds.get(&guild)).is_some_and(|known| id > *known);
        let chat = self.chats.entry(id).or_default();
        chat.direct = channel.is_direct();
        let first = chat.waiting.iter().map(|waiting| waiting.message).min();
        if let Some(cursor) = chat.cursor {
            // What waits came behind whatever was missed, and `last` may be older than both.
            return (last > cursor || first.is_some()).then_some(cursor);
        }
        // A post's first message has the post's own number.
        let start = match first {
            _ if opened_meanwhile => id.saturating_sub(1),
            Some(first) => first.saturating_sub(1),
            None => last,
        };
        chat.cursor = Some(start);
        self.moved.push(cursor_of(id, chat.direct, start));
        let missed = opened_meanwhile && !channel.newly_created;
        missed.then_some(start)
    }

    /// Where the reading of a chat's history goes on; None for one that was never met.
    pub(super) fn cursor(&self, chat: u64) -> Option<u64> {
        self.chats.get(&chat)?.cursor
    }

    /// The channels of a server are known up to this one.
    pub(super) fn know(&mut self, guild: u64, up_to: u64) {
        let known = self.guilds.entry(guild).or_default();
        if up_to > *known {
            *known = up_to;
            let (chat, kind) = (PlatformChat(format!("{GUILD}{guild}")), ChatKind::Group);
            self.moved.push(Cursor { chat, kind, read_up_to: place::order(up_to) });
        }
    }

    /// Its backlog is read up to there; `whole`, or as far as it can be. Returns what waited, in order.
    pub(super) fn read(&mut self, chat: u64, up_to: Option<u64>, whole: bool) -> Vec<Waiting> {
        let chat = self.chats.entry(chat).or_default();
        chat.cursor = chat.cursor.max(up_to);
        chat.state = State::Read;
        chat.whole = whole;
        let mut waited = std::mem::take(&mut chat.waiting);
        waited.sort_by_key(|waiting| waiting.message);
        waited
    }

    /// A message that passed is stored, with all that was heard before it.
    pub(super) fn stored(&mut self, chat: u64, message: u64) {
        if let Some(chat) = self.chats.get_mut(&chat) {
            chat.newest = chat.newest.max(message);
        }
    }

    /// A heartbeat was acknowledged in a session without a gap: Discord tells in order, so everything
    /// that it had told before has been heard. What is older than the heartbeat before this one has no
    /// older message behind it any more, and cursors move up to there.
    pub(super) fn checkpoint(&mut self) {
        let (now, before) = self.highest;
        self.highest.1 = now;
        for (id, chat) in &mut self.chats {
            let proven = chat.state == State::Read && chat.whole && chat.newest <= before;
            if proven && Some(chat.newest) > chat.cursor {
                chat.cursor = Some(chat.newest);
                self.moved.push(cursor_of(*id, chat.direct, chat.newest));
            }
        }
    }

    /// Cursors that moved and are to be stored.
    pub(super) fn take_moved(&mut self) -> Vec<Cursor> {
        std::mem::take(&mut self.moved)
    }

    /// Whether any moved.
    pub(super) fn has_moved(&self) -> bool {
        !self.moved.is_empty()
    }

    /// They could not be stored.
    pub(super) fn put_back(&mut self, moved: Vec<Cursor>) {
        let later = std::mem::replace(&mut self.moved, moved);
        self.moved.extend(later);
    }
}

/// A cursor as the store keeps it.
pub(super) fn cursor_of(chat: u64, direct: bool, up_to: u64) -> Cursor {
    let kind = if direct { ChatKind::Direct } else { ChatKind::Group };
    Cursor { chat: place::chat(chat), kind, read_up_to: place::order(up_to) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn channel(id: u64, last: u64) -> Channel {
        let last = (last > 0).then(|| last.to_string());
        let json = json!({"id": id.to_string(), "type": 0, "last_message_id": last});
        serde_json::from_value(json).unwrap()
    }

    fn message(number: u64) -> Waiting {
        Waiting { message: number, data: number.to_string() }
    }

    fn moved(chats: &mut Chats) -> Vec<(String, i64)> {
        let moved = chats.take_moved().into_iter();
        moved.map(|cursor| (cursor.chat.0, cursor.read_up_to)).collect()
    }

    #[test]
    fn a_new_chat_starts_at_now() {
        let mut chats = Chats::default();
        assert_eq!(chats.meet(&channel(5, 100), Some(9)), None);
        assert_eq!(moved(&mut chats), [("5".to_owned(), 100)]);
        chats.know(9, 50);
        assert_eq!(moved(&mut chats), [("guild:9".to_owned(), 50)]);
        assert_eq!(chats.meet(&channel(60, 101), Some(9)), Some(59), "it was opened meanwhile");
        assert_eq!(chats.meet(&channel(40, 101), Some(9)), None, "it was only hidden");
    }

    #[test]
    fn live_messages_wait_for_the_backlog_and_come_in_order() {
        let mut chats = Chats::default();
        chats.load(vec![cursor_of(5, false, 10)]);
        chats.begin();
        assert_eq!(chats.comes(5, message(31)), Comes::First);
        assert_eq!(chats.comes(5, message(30)), Comes::Waits);
        assert_eq!(chats.neglected(), [5]);
        assert_eq!(chats.meet(&channel(5, 31), None), Some(10));
        chats.look(5);
        assert_eq!(chats.neglected(), [0; 0]);
        let waited = chats.read(5, Some(29), true);
        assert_eq!(waited.iter().map(|one| one.message).collect::<Vec<_>>(), [30, 31]);
        assert_eq!(chats.comes(5, message(32)), Comes::Passes(message(32)));
        assert_eq!(chats.cursor(5), Some(29), "what merely comes in moves no cursor");
    }

    #[test]
    fn a_checkpoint_moves_a_cursor_one_heartbeat_late() {
        let mut chats = Chats::default();
        chats.load(vec![cursor_of(5, false, 10)]);
        chats.begin();
        chats.read(5, Some(10), true);
        chats.comes(5, message(20));
        chats.stored(5, 20);
        chats.checkpoint();
        assert!(!chats.has_moved());
        chats.comes(5, message(30));
        chats.checkpoint();
        assert_eq!(moved(&mut chats), [("5".to_owned(), 20)], "30 is not stored yet");
        chats.stored(5, 30);
        chats.checkpoint();
        assert_eq!(moved(&mut chats), [("5".to_owned(), 30)]);
    }

    #[test]
    fn a_chat_whose_last_words_are_the_bots_own_moves_too() {
        let mut chats = Chats::default();
        chats.load(vec![cursor_of(5, false, 10)]);
        chats.begin();
        chats.read(5, Some(10), true);
        chats.comes(5, message(20));
        chats.stored(5, 20);
        chats.heard(21);
        chats.stored(5, 21);
        chats.checkpoint();
        chats.checkpoint();
        assert_eq!(moved(&mut chats), [("5".to_owned(), 21)]);
    }

    #[test]
    fn no_checkpoint_moves_what_was_not_read_to_its_end() {
        let mut chats = Chats::default();
        chats.load(vec![cursor_of(5, false, 10), cursor_of(6, true, 10)]);
        assert_eq!(chats.begin(), [6]);
        chats.read(5, None, false);
        for chat in [5, 6] {
            chats.comes(chat, message(20));
            chats.stored(chat, 20);
        }
        for _ in 0..3 {
            chats.checkpoint();
        }
        assert!(!chats.has_moved());
    }
}
