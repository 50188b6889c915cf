//! The store on `SQLite`: one connection that writes, a few that read.
//!
//! WAL, `synchronous = FULL`: what was answered is on the disk. Foreign keys are checked where a row
//! makes no sense without the other; memory's history stands alone. The statements of a use case
//! stand in the file of their subject; here is only the way to them.

mod accept;
mod bots;
mod chats;
mod claims;
mod commands;
mod conversations;
mod cursors;
mod error;
mod health;
mod limits;
mod line;
mod memory;
mod open;
mod outbox;
mod pairings;
mod readers;
mod turns;
mod writer;

#[cfg(test)]
mod tests;

use std::path::Path;

use async_trait::async_trait;
use atlas_core::ids::{
    AccountId, BotId, BotName, ChatKey, ConversationId, DeliveryId, Fence, HolderId, InboxId,
    IntentId, Person, PlatformChat, PlatformMessage, Seq,
};
use atlas_core::ports::{
    Accepted, Admission, Claim, Claimed, Committed, Cursor, Cut, Delivery, Guests, HistoryRow,
    Intended, Intent, IntentState, Loaded, NewDelivery, NewInbox, NewIntent, NewTurn, OpenWork,
    Opened, Pending, PendingCommand, Redeemed, Settlement, Status, StepCommit, Store, StoreError,
};
use chrono::{DateTime, Utc};

pub use open::OpenError;

use readers::Readers;
use writer::{Manner, Writer};

/// A home's database in one file. Clones share it.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    writer: Writer,
    readers: Readers,
}

impl SqliteStore {
    /// Opens the database, makes it where there is none, and brings its schema up to date. Takes a
    /// few milliseconds, however much is in it.
    ///
    /// # Errors
    ///
    /// [`OpenError`], each with what to do about it. Nothing of an existing file was changed.
    pub async fn open(path: &Path) -> Result<Self, OpenError> {
        let (connection, options, readers) = open::open(path).await?;
        let writer = Writer::start(connection, options);
        let writer = writer.map_err(|why| OpenError::other(path, &why))?;
        Ok(Self { writer, readers })
    }

    /// Finishes what was begun and closes the file. Calls that come later fail.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn take_up_bots(
        &self,
        names: &[BotName],
        at: DateTime<Utc>,
    ) -> Result<Vec<(BotName, BotId)>, StoreError> {
        let names = names.to_vec();
        self.writer
            .write(Manner::WHOLE, move |writer| {
                Box::pin(async move { bots::take_up(writer, &names, at).await })
            })
            .await
    }

    async fn owners(&self) -> Result<Vec<Person>, StoreError> {
        bots::owners(&self.readers).await
    }

    async fn offer_pairing(
        &self,
        code_hash: &str,
        at: DateTime<Utc>,
        expires: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let code_hash = code_hash.to_owned();
        self.writer
            .write(Manner::WHOLE, move |writer| {
                Box::pin(bots::offer_pairing(writer, code_hash, at, expires))
            })
            .await
    }

    async fn redeem_pairing(
        &self,
        code_hash: &str,
        person: &Person,
        at: DateTime<Utc>,
    ) -> Result<Redeemed, StoreError> {
        let (code_hash, person) = (code_hash.to_owned(), person.clone());
        self.writer
            .write(Manner::WHOLE, move |writer| {
                Box::pin(bots::redeem_pairing(writer, code_hash, person, at))
            })
            .await
    }

    async fn is_guest(&self, person: &Person) -> Result<bool, StoreError> {
        pairings::is_guest(&self.readers, person).await
    }

    async fn allow_guest(
        &self,
        code_hash: &str,
        by: Option<&Person>,
        welcome: &str,
        at: DateTime<Utc>,
    ) -> Result<Admission, StoreError> {
        let (code_hash, welcome) = (code_hash.to_owned(), welcome.to_owned());
        let by = by.cloned();
        self.writer
            .write(Manner::WHOLE, move |writer| {
                Box::pin(async move {
                    pairings::allow(writer, &code_hash, by.as_ref(), &welcome, at).await
                })
            })
            .await
    }

    async fn remove_guest(&self, person: &Person) -> Result<bool, StoreError> {
        let person = person.clone();
        self.writer
            .write(Manner::STATEMENT, move |writer| Box::pin(pairings::remove(writer, person)))
            .await
    }

    async fn guests(&self, at: DateTime<Utc>) -> Result<Guests, StoreError> {
        pairings::guests(&self.readers, at).await
    }

    async fn strict_roles(&self, signer: &str) -> Result<bool, StoreError> {
        bots::strict_roles(&self.readers, signer).await
    }

    async fn found_strict_roles(&self, signer: &str, at: DateTime<Utc>) -> Result<(), StoreError> {
        let signer = signer.to_owned();
        self.writer
            .write(Manner::WHOLE, move |writer| {
                Box::pin(bots::found_strict_roles(writer, signer, at))
            })
            .await
    }

    async fn accept(&self, events: &[NewInbox]) -> Result<Vec<Accepted>, StoreError> {
        let events = events.to_vec();
        self.writer
            .write(Manner::WHOLE, move |writer| {
                Box::pin(async move { accept::accept(writer, &events).await })
            })
            .await
    }

    async fn pending_commands(&self) -> Result<Vec<PendingCommand>, StoreError> {
        commands::pending(&self.readers).await
    }

    async fn settle_command(
        &self,
        inbox: InboxId,
        answers: &[NewDelivery],
        stop: bool,
        at: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        let answers = answers.to_vec();
        self.writer
            .write(Manner::WHOLE, move |writer| {
                Box::pin(async move { commands::settle(writer, inbox, &answers, stop, at).await })
            })
            .await
    }

    async fn private_place(&self, bot: BotId) -> Result<Option<ChatKey>, StoreError> {
        chats::private_place(&self.readers, bot).await
    }

    async fn cursors(&self, account: &AccountId) -> Result<Vec<Cursor>, StoreError> {
        cursors::all(&self.readers, account).await
    }

    async fn read_up_to(&self, account: &AccountId, cursors: &[Cursor]) -> Result<(), StoreError> {
        let (account, cursors) = (account.clone(), cursors.to_vec());
        self.writer
            .write(Manner::STATEMENT_AGAIN, move |writer| {
                Box::pin(async move { cursors::read_up_to(writer, &account, &cursors).await })
            })
            .await
    }

    async fn open_work(&self) -> Result<Vec<OpenWork>, StoreError> {
        claims::open_work(&self.readers).await
    }

    async fn claim(
        &self,
        conversation: ConversationId,
        holder: &HolderId,
        until: DateTime<Utc>,
        known: Seq,
    ) -> Result<Option<Claimed>, StoreError> {
        let holder = holder.clone();
        self.writer
            .write(Manner::STATEMENT_AGAIN, move |writer| {
                Box::pin(claims::claim(writer, conversation, holder, until, known))
            })
            .await
    }

    async fn renew(&self, claim: &Claim, until: DateTime<Utc>) -> Result<(), StoreError> {
        let claim = claim.clone();
        self.writer
            .write(Manner::STATEMENT_AGAIN, move |writer| {
                Box::pin(async move { claims::renew(writer, &claim, until).await })
            })
            .await
    }

    async fn release(&self, claim: &Claim, clean: bool) -> Result<(), StoreError> {
        let claim = claim.clone();
        self.writer
            .write(Manner::STATEMENT_AGAIN, move |writer| {
                Box::pin(async move { claims::release(writer, &claim, clean).await })
            })
            .await
    }

    async fn holders(&self) -> Result<Vec<HolderId>, StoreError> {
        claims::holders(&self.readers).await
    }

    async fn free(&self, dead: &HolderId) -> Result<(), StoreError> {
        let dead = dead.clone();
        self.writer.write(Manner::AGAIN, move |writer| Box::pin(claims::free(writer, dead))).await
    }

    async fn load(&self, conversation: ConversationId, known: Seq) -> Result<Loaded, StoreError> {
        conversations::load(&self.readers, conversation, known).await
    }

    async fn pending(&self, conversation: ConversationId) -> Result<Vec<Pending>, StoreError> {
        conversations::pending(&self.readers, conversation).await
    }

    async fn stop_requested(&self, conversation: ConversationId) -> Result<bool, StoreError> {
        conversations::stop_requested(&self.readers, conversation).await
    }

    async fn open_turn(&self, turn: &NewTurn) -> Result<Opened, StoreError> {
        let turn = turn.clone();
        self.writer.write(Manner::AGAIN, move |writer| Box::pin(turns::open(writer, turn))).await
    }

    async fn commit_step(&self, step: &StepCommit) -> Result<Committed, StoreError> {
        let step = step.clone();
        self.writer
            .write(Manner::WHOLE, move |writer| Box::pin(turns::commit_step(writer, step)))
            .await
    }

    async fn cut(&self, cut: &Cut) -> Result<(), StoreError> {
        let cut = cut.clone();
        self.writer.write(Manner::WHOLE, move |writer| Box::pin(turns::cut(writer, cut))).await
    }

    async fn status(&self, conversation: ConversationId) -> Result<Status, StoreError> {
        conversations::status(&self.readers, conversation).await
    }

    async fn places_at_work(&self) -> Result<Vec<ChatKey>, StoreError> {
        conversations::places_at_work(&self.readers).await
    }

    async fn is_quiet(&self, place: &ChatKey) -> Result<bool, StoreError> {
        chats::is_quiet(&self.readers, place).await
    }

    async fn enqueue(
        &self,
        deliveries: &[NewDelivery],
        at: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let deliveries = deliveries.to_vec();
        self.writer
            .write(Manner::WHOLE, move |writer| {
                Box::pin(async move { outbox::insert(writer, &deliveries, at).await })
            })
            .await
    }

    async fn claim_deliveries(
        &self,
        holder: &HolderId,
        accounts: &[AccountId],
        now: DateTime<Utc>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        let (holder, accounts) = (holder.clone(), accounts.to_vec());
        self.writer
            .write(Manner::STATEMENT, move |writer| {
                Box::pin(async move { outbox::claim(writer, holder, &accounts, now, limit).await })
            })
            .await
    }

    async fn attempting(
        &self,
        id: DeliveryId,
        fence: Fence,
        at: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        self.writer
            .write(Manner::STATEMENT, move |writer| {
                Box::pin(outbox::attempting(writer, id, fence, at))
            })
            .await
    }

    async fn part_sent(
        &self,
        id: DeliveryId,
        fence: Fence,
        message: &PlatformMessage,
    ) -> Result<(), StoreError> {
        let message = message.clone();
        self.writer
            .write(Manner::STATEMENT, move |writer| {
                Box::pin(outbox::part_sent(writer, id, fence, message))
            })
            .await
    }

    async fn settle(
        &self,
        id: DeliveryId,
        fence: Fence,
        settlement: &Settlement,
        at: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let settlement = settlement.clone();
        let manner = match settlement {
            // Its parts are stored: whoever finds it open has nothing to send, and closes it.
            Settlement::Sent => Manner::STATEMENT_AGAIN,
            Settlement::Retry { .. } | Settlement::GivenBack => Manner::STATEMENT,
            Settlement::Closed { .. } => Manner::WHOLE,
        };
        self.writer
            .write(manner, move |writer| {
                Box::pin(outbox::settle(writer, id, fence, settlement, at))
            })
            .await
    }

    async fn next_delivery(
        &self,
        holder: &HolderId,
        accounts: &[AccountId],
    ) -> Result<Option<DateTime<Utc>>, StoreError> {
        outbox::next(&self.readers, holder, accounts).await
    }

    async fn claim_left_over(
        &self,
        holder: &HolderId,
        chats: &[PlatformChat],
        account: &AccountId,
        now: DateTime<Utc>,
    ) -> Result<Vec<Delivery>, StoreError> {
        let (holder, chats, account) = (holder.clone(), chats.to_vec(), account.clone());
        self.writer
            .write(Manner::WHOLE, move |writer| {
                Box::pin(async move {
                    outbox::claim_left_over(writer, holder, &chats, &account, now).await
                })
            })
            .await
    }

    async fn chats_with_deliveries(
        &self,
        account: &AccountId,
    ) -> Result<Vec<PlatformChat>, StoreError> {
        outbox::chats(&self.readers, account).await
    }

    async fn move_chat(
        &self,
        account: &AccountId,
        from: &PlatformChat,
        to: &PlatformChat,
    ) -> Result<(), StoreError> {
        let (account, from, to) = (account.clone(), from.clone(), to.clone());
        self.writer
            .write(Manner::WHOLE, move |writer| {
                Box::pin(async move { chats::move_chat(writer, &account, &from, &to).await })
            })
            .await
    }

    async fn intend(&self, intent: &NewIntent) -> Result<Intended, StoreError> {
        let intent = intent.clone();
        self.writer
            .write(Manner::WHOLE, move |writer| Box::pin(memory::intend(writer, intent)))
            .await
    }

    async fn intent(&self, key: &str) -> Result<Option<Intent>, StoreError> {
        memory::intent(&self.readers, key).await
    }

    async fn open_intents(&self, path: Option<&str>) -> Result<Vec<Intent>, StoreError> {
        memory::open_intents(&self.readers, path).await
    }

    async fn redo_intent(
        &self,
        id: IntentId,
        before: Option<&str>,
        after: &str,
        reply: &str,
    ) -> Result<(), StoreError> {
        let before = before.map(ToOwned::to_owned);
        let (after, reply) = (after.to_owned(), reply.to_owned());
        self.writer
            .write(Manner::WHOLE, move |writer| {
                Box::pin(memory::redo(writer, id, before, after, reply))
            })
            .await
    }

    async fn settle_intent(
        &self,
        id: IntentId,
        state: IntentState,
        history: &[HistoryRow],
    ) -> Result<(), StoreError> {
        let history = history.to_vec();
        self.writer
            .write(Manner::WHOLE, move |writer| {
                Box::pin(async move { memory::settle(writer, id, state, &history).await })
            })
            .await
    }

    async fn record_history(&self, rows: &[HistoryRow]) -> Result<(), StoreError> {
        let rows = rows.to_vec();
        self.writer
            .write(Manner::WHOLE, move |writer| {
                Box::pin(async move { memory::record(writer, &rows).await })
            })
            .await
    }

    async fn history(&self, path: &str, limit: usize) -> Result<Vec<HistoryRow>, StoreError> {
        memory::history(&self.readers, path, limit).await
    }

    async fn data_version(&self) -> Result<i64, StoreError> {
        self.writer.ask(|writer| Box::pin(health::data_version(writer))).await
    }

    async fn check(&self) -> Result<(), StoreError> {
        let written =
            self.writer.write(Manner::WHOLE, |writer| Box::pin(health::probe(writer))).await?;
        let read: Option<i64> = self.readers.value(sqlx::query(health::PROBE)).await?;
        if read.is_none_or(|read| read < written) {
            return Err(StoreError::Failed(format!("{written} was written and not read back")));
        }
        Ok(())
    }
}
