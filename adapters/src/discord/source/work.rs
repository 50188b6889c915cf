//! Everything that is under way for one account, whether a socket is open or not: events on their way
//! to the intake, backlogs that are read, commands that are acknowledged.
//!
//! Events are stored in the order in which they were told, many at once; a session is resumed from
//! the last that is stored. Nothing here starts a task: whoever holds a [`Work`] drives it by
//! [`Work::step`].

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use atlas_core::event::Envelope;
use atlas_core::intake::Intake;
use atlas_core::ports::{Accepted, Cursor, StoreError};
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use serenity::model::id::ChannelId;
use tokio::sync::Semaphore;
use tokio::time::sleep;
use tracing::{debug, error, info, warn};

use super::super::decode::{self, Given, Head, Me, Where};
use super::super::{rest, slash};
use super::DiscordSource;
use super::catch_up::CatchUp;
use super::chats::{Chats, Waiting};
use super::directory::{Channel, Directory};
use super::session::Session;

/// Events that are stored in one transaction at most.
const BATCH: usize = 200;
/// Events that wait to be stored; more than these come again by a RESUME.
const MOST_QUEUED: usize = 10_000;
/// Waits between tries to store; after them the connection is built anew.
const TRIES: [u64; 7] = [0, 200, 1_000, 2_000, 4_000, 8_000, 15_000];
/// A command is acknowledged after this long, stored or not.
pub(super) const ACKNOWLEDGE: Duration = Duration::from_millis(1_500);
/// Chats whose backlog is read at once.
const READERS: usize = 4;

/// All that is under way.
pub(super) struct Work<'a> {
    pub(super) source: &'a DiscordSource,
    pub(super) intake: &'a Intake,
    /// The bot, once READY told of it.
    pub(super) me: Me,
    pub(super) session: Session,
    /// Grows with every session: numbers of an older one mean nothing in this one.
    pub(super) generation: u32,
    pub(super) directory: Directory,
    pub(super) chats: Chats,
    pub(super) commands: BTreeMap<u64, Given>,
    /// Whether the slash commands are as they should be.
    pub(super) registered: bool,
    pub(super) jobs: FuturesUnordered<BoxFuture<'a, Done>>,
    pub(super) readers: std::sync::Arc<Semaphore>,
    queue: VecDeque<Item>,
    storing: Option<BoxFuture<'a, Stored>>,
    /// Events cannot be stored: the connection is to be built anew.
    stuck: bool,
}

/// What a job came to.
pub(super) enum Done {
    /// Servers have had their time to be told of, in this generation's session.
    Waited(u32),
    /// A channel that nobody had told of.
    Found(u64, Result<Channel, rest::CallError>),
    /// A chat's backlog is read up to there, to its end or not.
    CaughtUp {
        /// The chat.
        chat: u64,
        /// The last message that was read.
        up_to: u64,
        /// To its end.
        whole: bool,
    },
    /// It is high time to acknowledge this command.
    Due(u64),
    /// A command was acknowledged, or could not be.
    Acknowledged(u64, bool),
    /// The commands were looked after.
    Registered(Result<bool, rest::CallError>),
}

/// One thing that was told, on its way to the store. The empty one only has its number.
#[derive(Default)]
pub(super) struct Item {
    /// The generation and the number in its session.
    pub(super) seq: Option<(u32, u64)>,
    pub(super) envelope: Option<Envelope>,
    /// The chat and message it is.
    pub(super) message: Option<(u64, u64)>,
    /// The command it is.
    pub(super) command: Option<u64>,
}

struct Stored {
    items: Vec<Item>,
    moved: Vec<Cursor>,
    result: Result<Vec<Accepted>, StoreError>,
}

impl<'a> Work<'a> {
    pub(super) fn new(source: &'a DiscordSource, intake: &'a Intake) -> Self {
        Self {
            source,
            intake,
            me: Me::default(),
            session: Session::default(),
            generation: 0,
            directory: Directory::default(),
            chats: Chats::default(),
            commands: BTreeMap::new(),
            registered: false,
            jobs: FuturesUnordered::new(),
            readers: std::sync::Arc::new(Semaphore::new(READERS)),
            queue: VecDeque::new(),
            storing: None,
            stuck: false,
        }
    }

    /// Does the next thing that can be done, waiting for it as long as it takes. Cancelling loses
    /// nothing.
    pub(super) async fn step(&mut self) {
        self.begin_storing();
        tokio::select! {
            stored = settled(&mut self.storing) => {
                self.storing = None;
                self.stored(stored);
            }
            Some(done) = self.jobs.next(), if !self.jobs.is_empty() => self.done(done),
        }
    }

    /// Whether something is on its way to the store.
    pub(super) fn is_storing(&self) -> bool {
        self.storing.is_some() || !self.queue.is_empty() || self.chats.has_moved()
    }

    /// Whether events could not be stored since the last time that somebody asked. They are forgotten
    /// then: a RESUME, or a chat's backlog, tells of them again.
    pub(super) fn got_stuck(&mut self) -> bool {
        let stuck = self.stuck || self.queue.len() > MOST_QUEUED;
        if stuck {
            self.stuck = false;
            self.queue.retain(|item| item.seq.is_none());
        }
        stuck
    }

    /// Puts something that was told in line.
    pub(super) fn push(&mut self, item: Item) {
        let nothing = item.envelope.is_none() && item.message.is_none();
        match item.seq {
            Some((generation, seq))
                if nothing && self.queue.is_empty() && self.storing.is_none() =>
            {
                self.passed(generation, seq);
            }
            _ => self.queue.push_back(item),
        }
    }

    fn passed(&mut self, generation: u32, seq: u64) {
        if generation == self.generation {
            self.session.stored(seq);
        }
    }

    fn begin_storing(&mut self) {
        if self.storing.is_some() || (self.queue.is_empty() && !self.chats.has_moved()) {
            return;
        }
        let items: Vec<Item> = self.queue.drain(..self.queue.len().min(BATCH)).collect();
        let moved = self.chats.take_moved();
        self.storing = Some(store(self.source, self.intake, items, moved).boxed());
    }

    fn stored(&mut self, stored: Stored) {
        let Stored { items, moved, result } = stored;
        let accepted = match result {
            Ok(accepted) => accepted,
            Err(_) => {
                self.chats.put_back(moved);
                items.into_iter().rev().for_each(|item| self.queue.push_front(item));
                self.stuck = true;
                return;
            }
        };
        let mut accepted = accepted.into_iter();
        for item in items {
            let accepted = item.envelope.is_some().then(|| accepted.next()).flatten();
            if let (Some(command), Some(accepted)) = (item.command, accepted) {
                self.command_stored(command, accepted);
            }
            if let Some((chat, message)) = item.message {
                self.chats.stored(chat, message);
            }
            if let Some((generation, seq)) = item.seq {
                self.passed(generation, seq);
            }
        }
    }

    // Commands.

    fn command_stored(&mut self, command: u64, accepted: Accepted) {
        match accepted {
            Accepted::Stored { conversation: Some(_), .. } => {
                self.acknowledge(command, slash::Answer::Deferred);
            }
            Accepted::Stored { conversation: None, .. } => {
                self.acknowledge(command, slash::Answer::Refused);
            }
            // Told a second time, after it was acknowledged or too late for that.
            Accepted::Duplicate => {
                self.commands.remove(&command);
            }
        }
    }

    fn acknowledge(&mut self, command: u64, answer: slash::Answer) {
        if let Some(given) = self.commands.remove(&command) {
            let source = self.source;
            self.jobs.push(
                async move {
                    // Also what is refused: why, where that is told, takes the refusal's place.
                    let taken = slash::acknowledge(source.api.http(), &given, answer).await;
                    Done::Acknowledged(given.id, taken)
                }
                .boxed(),
            );
        }
    }

    // Jobs.

    fn done(&mut self, done: Done) {
        match done {
            Done::Waited(generation) if generation == self.generation => self.waited_enough(),
            Done::Waited(_) => {}
            Done::Found(_, Ok(channel)) => {
                self.chats.lose(&[channel.id.get()]);
                self.meet(channel);
            }
            Done::Found(chat, Err(error)) => {
                debug!(account = %self.source.account, chat, %error, "a channel cannot be looked at");
                self.release(chat, None, false);
            }
            Done::CaughtUp { chat, up_to, whole } => self.release(chat, Some(up_to), whole),
            Done::Due(command) => self.acknowledge(command, slash::Answer::Deferred),
            Done::Acknowledged(command, taken) => {
                self.source.interactions.acknowledged(command, taken);
            }
            Done::Registered(Ok(changed)) => {
                self.registered = true;
                if changed {
                    info!(account = %self.source.account, "slash commands registered");
                }
            }
            Done::Registered(Err(error)) => {
                warn!(account = %self.source.account, %error, "slash commands cannot be registered; tried again with the next session");
            }
        }
    }

    fn waited_enough(&mut self) {
        self.directory.give_up_waiting();
        for chat in self.chats.neglected() {
            self.look_for(chat);
        }
    }

    /// Asks Discord what this channel is.
    pub(super) fn look_for(&mut self, chat: u64) {
        self.chats.look(chat);
        let source = self.source;
        self.jobs.push(source.find(ChannelId::new(chat)).boxed());
    }

    /// A channel is known now. Where nobody looked at it in this session, its backlog is read.
    pub(super) fn meet(&mut self, channel: Channel) {
        let (chat, guild) = (channel.id.get(), channel.guild());
        self.directory.put(channel.clone());
        if !channel.holds_messages() || !self.chats.is_unknown(chat) {
            return;
        }
        match self.chats.meet(&channel, guild) {
            Some(after) => self.read(chat, after),
            None => self.release(chat, None, true),
        }
    }

    /// Reads a chat's backlog.
    pub(super) fn read(&mut self, chat: u64, after: u64) {
        let place = self.directory.place(chat).unwrap_or_else(|| Where::dm(chat));
        self.chats.look(chat);
        let catch_up = CatchUp {
            source: self.source,
            intake: self.intake,
            me: self.me.clone(),
            place,
            chat,
            after,
            readers: self.readers.clone(),
        };
        self.jobs.push(catch_up.run().boxed());
    }

    fn release(&mut self, chat: u64, up_to: Option<u64>, whole: bool) {
        for waiting in self.chats.read(chat, up_to, whole) {
            self.take(chat, waiting, None);
        }
    }

    /// A message goes to the store.
    pub(super) fn take(&mut self, chat: u64, message: Waiting, seq: Option<(u32, u64)>) {
        let place =
            self.directory.place(chat).unwrap_or_else(|| self.somewhere(chat, &message.data));
        let envelope = decode::written(&self.source.account, &self.me, &place, &message.data);
        let (envelope, message) = (Some(envelope), Some((chat, message.message)));
        self.push(Item { seq, envelope, message, command: None });
    }

    /// Where a message stands whose channel cannot be looked at.
    fn somewhere(&self, chat: u64, data: &str) -> Where {
        match Head::read(data).and_then(|head| head.guild()) {
            Some(guild) => Where { lineage: vec![chat, guild], ..Where::default() },
            None => Where::dm(chat),
        }
    }
}

async fn settled(storing: &mut Option<BoxFuture<'_, Stored>>) -> Stored {
    match storing {
        Some(storing) => storing.await,
        None => std::future::pending().await,
    }
}

/// Stores cursors, then events: a chat that is met for the first time must not be forgotten between.
async fn store(
    source: &DiscordSource,
    intake: &Intake,
    items: Vec<Item>,
    moved: Vec<Cursor>,
) -> Stored {
    let mut result = Ok(Vec::new());
    for wait in TRIES {
        sleep(Duration::from_millis(wait)).await;
        result = store_once(source, intake, &items, &moved).await;
        match &result {
            Ok(_) => break,
            Err(error) if wait == 0 => error!(
                account = %source.account, %error,
                "messages from Discord cannot be stored; they are tried again, and asked for again"
            ),
            Err(_) => {}
        }
    }
    Stored { items, moved, result }
}

async fn store_once(
    source: &DiscordSource,
    intake: &Intake,
    items: &[Item],
    moved: &[Cursor],
) -> Result<Vec<Accepted>, StoreError> {
    if !moved.is_empty() {
        intake.read_up_to(&source.account, moved).await?;
    }
    let envelopes: Vec<_> = items.iter().filter_map(|item| item.envelope.clone()).collect();
    if envelopes.is_empty() { Ok(Vec::new()) } else { intake.accept(envelopes).await }
}

impl DiscordSource {
    async fn find(&self, id: ChannelId) -> Done {
        let found = rest::channel(self.api.http(), id).await;
        let read = found.and_then(|channel| {
            serde_json::from_value(channel)
                .map_err(|_| rest::CallError::Passing("a channel of unknown form".to_owned()))
        });
        Done::Found(id.get(), read)
    }
}
