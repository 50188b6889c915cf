//! The database. Each method is a use case and one transaction; nobody holds an open one.
//!
//! What is written together is written by one method. Every commit that belongs to a claimed
//! conversation carries the claim, and is refused with [`StoreError::ClaimLost`] when a newer one
//! exists. All instants are UTC.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use thiserror::Error;

use crate::ids::{
    AccountId, BotId, BotName, ChatKey, ConversationId, DeliveryId, Fence, HolderId, InboxId,
    IntentId, Person, PlatformChat, PlatformMessage, Seq,
};

mod access;
mod cursors;
mod inbox;
mod memory;
mod outbox;
mod turns;

pub use access::*;
pub use cursors::*;
pub use inbox::*;
pub use memory::*;
pub use outbox::*;
pub use turns::*;

/// Why the store did not do it. Nothing of the use case was kept.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StoreError {
    /// Another process has the conversation or delivery now; whoever held it stops.
    #[error("another process has taken this over")]
    ClaimLost,
    /// The disk is full, or the file cannot be written: wait and try again.
    #[error("the database cannot be written: {0}")]
    Unwritable(String),
    /// Anything else. Try again once, then give up and say so.
    #[error("the database failed: {0}")]
    Failed(String),
}

/// The database.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    // Bots, owners, models.

    /// Gives each bot of the home its identity: the one it has, or a new one.
    async fn take_up_bots(
        &self,
        names: &[BotName],
        at: DateTime<Utc>,
    ) -> Result<Vec<(BotName, BotId)>, StoreError>;
    /// The people who became owners by pairing.
    async fn owners(&self) -> Result<Vec<Person>, StoreError>;
    /// Stores the hash of a pairing code, valid until `expires`. An earlier open one stops counting.
    async fn offer_pairing(
        &self,
        code_hash: &str,
        at: DateTime<Utc>,
        expires: DateTime<Utc>,
    ) -> Result<(), StoreError>;
    /// Redeems a code. Five wrong tries in an hour lock the sender out until the hour is over.
    async fn redeem_pairing(
        &self,
        code_hash: &str,
        person: &Person,
        at: DateTime<Utc>,
    ) -> Result<Redeemed, StoreError>;
    /// Whether this person was let in by a code.
    async fn is_guest(&self, person: &Person) -> Result<bool, StoreError>;
    /// Lets in whoever was given this code, and sends them `welcome`. `by` gave it in; None on the
    /// command line, where wrong ones are not counted.
    async fn allow_guest(
        &self,
        code_hash: &str,
        by: Option<&Person>,
        welcome: &str,
        at: DateTime<Utc>,
    ) -> Result<Admission, StoreError>;
    /// Takes it back. False where this person was not let in by a code.
    async fn remove_guest(&self, person: &Person) -> Result<bool, StoreError>;
    /// Who waits with a code that counts still, and who was let in.
    async fn guests(&self, at: DateTime<Utc>) -> Result<Guests, StoreError>;
    /// Whether the model behind `signer` was found to want strict roles.
    async fn strict_roles(&self, signer: &str) -> Result<bool, StoreError>;
    /// Remembers that it does. Never taken back.
    async fn found_strict_roles(&self, signer: &str, at: DateTime<Utc>) -> Result<(), StoreError>;

    // The way in.

    /// Stores events, all or none, each once. Answers in the order of `events`.
    async fn accept(&self, events: &[NewInbox]) -> Result<Vec<Accepted>, StoreError>;
    /// Commands that wait for their answer, the oldest first.
    async fn pending_commands(&self) -> Result<Vec<PendingCommand>, StoreError>;
    /// Closes a command with its answers. `stop` asks the open turn of its conversation to stop, and the
    /// turn that opens with nothing but messages stored before the command: any of them where the
    /// owner gave it, else those of the same standing. False, and nothing changed, where it was
    /// closed before.
    async fn settle_command(
        &self,
        inbox: InboxId,
        answers: &[NewDelivery],
        stop: bool,
        at: DateTime<Utc>,
    ) -> Result<bool, StoreError>;
    /// The owner's DM with this bot that was last written in.
    async fn private_place(&self, bot: BotId) -> Result<Option<ChatKey>, StoreError>;

    /// How far each chat of this account was read, by whoever reads histories.
    async fn cursors(&self, account: &AccountId) -> Result<Vec<Cursor>, StoreError>;
    /// Moves these cursors, all or none; each forward only.
    async fn read_up_to(&self, account: &AccountId, cursors: &[Cursor]) -> Result<(), StoreError>;

    // Conversations and turns.

    /// Every conversation in which something is to be done.
    async fn open_work(&self) -> Result<Vec<OpenWork>, StoreError>;
    /// Claims a conversation that nobody holds, or that this holder held (its actor died). Counts
    /// the attempt. None while another process holds it. Tells how it stands, with the open episode's
    /// messages after `known`, and what waits.
    async fn claim(
        &self,
        conversation: ConversationId,
        holder: &HolderId,
        until: DateTime<Utc>,
        known: Seq,
    ) -> Result<Option<Claimed>, StoreError>;
    /// Prolongs a claim.
    async fn renew(&self, claim: &Claim, until: DateTime<Utc>) -> Result<(), StoreError>;
    /// Gives a claim back. `clean`: the attempt does not count.
    async fn release(&self, claim: &Claim, clean: bool) -> Result<(), StoreError>;
    /// The holders of claims on conversations and deliveries.
    async fn holders(&self) -> Result<Vec<HolderId>, StoreError>;
    /// Frees everything that a dead process holds. Its unsettled deliveries become unknown ones.
    async fn free(&self, dead: &HolderId) -> Result<(), StoreError>;
    /// The conversation as it stands, with the open episode's messages after `known` (0: all of
    /// them).
    async fn load(&self, conversation: ConversationId, known: Seq) -> Result<Loaded, StoreError>;
    /// What waits in it: in a chat by the platform's order, between chats by time of storing.
    async fn pending(&self, conversation: ConversationId) -> Result<Vec<Pending>, StoreError>;
    /// Whether somebody asked to stop the open turn.
    async fn stop_requested(&self, conversation: ConversationId) -> Result<bool, StoreError>;
    /// Opens a turn and takes its rows. A request to stop that came before is taken back, unless it
    /// came after all that is taken.
    async fn open_turn(&self, turn: &NewTurn) -> Result<Opened, StoreError>;
    /// Commits a step. Sets the count of attempts back.
    async fn commit_step(&self, step: &StepCommit) -> Result<Committed, StoreError>;
    /// Closes the open episode and begins the next one.
    async fn cut(&self, cut: &Cut) -> Result<(), StoreError>;
    /// What `/status` tells.
    async fn status(&self, conversation: ConversationId) -> Result<Status, StoreError>;
    /// Places of the messages in open turns, and of those that wait where somebody is at work: there people
    /// see typing.
    async fn places_at_work(&self) -> Result<Vec<ChatKey>, StoreError>;

    /// Whether nothing is under way for this place: no message or command of it waits, no open turn
    /// holds one of it, and no delivery to it is unsettled.
    async fn is_quiet(&self, place: &ChatKey) -> Result<bool, StoreError>;

    // The way out.

    /// Stores messages that belong to no step.
    async fn enqueue(
        &self,
        deliveries: &[NewDelivery],
        at: DateTime<Utc>,
    ) -> Result<(), StoreError>;
    /// Claims what is due on these accounts: the head of each chat's line, at most `limit`, fair
    /// between chats (the longest-waiting first). Of the account `terminal` only the holder's own chat,
    /// which bears its name. Stamps the attempt.
    async fn claim_deliveries(
        &self,
        holder: &HolderId,
        accounts: &[AccountId],
        now: DateTime<Utc>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError>;
    /// Stamps that the next part is about to be sent.
    async fn attempting(
        &self,
        id: DeliveryId,
        fence: Fence,
        at: DateTime<Utc>,
    ) -> Result<(), StoreError>;
    /// A part arrived.
    async fn part_sent(
        &self,
        id: DeliveryId,
        fence: Fence,
        message: &PlatformMessage,
    ) -> Result<(), StoreError>;
    /// Closes the claim of a delivery.
    async fn settle(
        &self,
        id: DeliveryId,
        fence: Fence,
        settlement: &Settlement,
        at: DateTime<Utc>,
    ) -> Result<(), StoreError>;
    /// When the next delivery is due that this holder could claim on these accounts, None where none
    /// waits.
    async fn next_delivery(
        &self,
        holder: &HolderId,
        accounts: &[AccountId],
    ) -> Result<Option<DateTime<Utc>>, StoreError>;
    /// Undelivered messages of this account's chats that nobody serves any more (a terminal that is
    /// gone), with the process that the chat belonged to: claimed for this holder like any other.
    async fn claim_left_over(
        &self,
        holder: &HolderId,
        chats: &[PlatformChat],
        account: &AccountId,
        now: DateTime<Utc>,
    ) -> Result<Vec<Delivery>, StoreError>;
    /// Chats of this account with undelivered messages.
    async fn chats_with_deliveries(
        &self,
        account: &AccountId,
    ) -> Result<Vec<PlatformChat>, StoreError>;
    /// A chat goes on under another id: its row, conversation and undelivered messages go along.
    async fn move_chat(
        &self,
        account: &AccountId,
        from: &PlatformChat,
        to: &PlatformChat,
    ) -> Result<(), StoreError>;

    // Memory.

    /// Stores an intent, once for its key.
    async fn intend(&self, intent: &NewIntent) -> Result<Intended, StoreError>;
    /// The intent of this key, if one was stored.
    async fn intent(&self, key: &str) -> Result<Option<Intent>, StoreError>;
    /// The intents that are not settled, of one file or of all, the oldest first.
    async fn open_intents(&self, path: Option<&str>) -> Result<Vec<Intent>, StoreError>;
    /// Puts other texts and another reply into an open intent (the file had changed meanwhile).
    async fn redo_intent(
        &self,
        id: IntentId,
        before: Option<&str>,
        after: &str,
        reply: &str,
    ) -> Result<(), StoreError>;
    /// Settles an intent and writes the history rows with it.
    async fn settle_intent(
        &self,
        id: IntentId,
        state: IntentState,
        history: &[HistoryRow],
    ) -> Result<(), StoreError>;
    /// Writes history rows that belong to no intent (an edit by hand that was noticed).
    async fn record_history(&self, rows: &[HistoryRow]) -> Result<(), StoreError>;
    /// A file's history, the newest first.
    async fn history(&self, path: &str, limit: usize) -> Result<Vec<HistoryRow>, StoreError>;

    // Housekeeping.

    /// Changes whenever another process has committed.
    async fn data_version(&self) -> Result<i64, StoreError>;
    /// Writes and reads back, to tell that the database works.
    async fn check(&self) -> Result<(), StoreError>;
}
