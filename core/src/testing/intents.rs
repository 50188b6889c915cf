//! A store that keeps memory's intents and history alone, with what can happen to it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::ids::*;
use crate::ports::*;

/// Intents and history in memory.
#[derive(Debug)]
pub struct Intents {
    rows: Mutex<Rows>,
    /// How many more writes succeed before every one fails: a process that dies there.
    left: AtomicUsize,
}

/// Origin, the text before, the text after.
pub type Told = (Origin, Option<String>, Option<String>);

#[derive(Debug, Default)]
struct Rows {
    intents: Vec<Intent>,
    history: Vec<HistoryRow>,
}

impl Intents {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self { rows: Mutex::default(), left: AtomicUsize::new(usize::MAX) }
    }

    /// From now on, this many writes succeed and then every one fails.
    pub fn die_after(&self, writes: usize) {
        self.left.store(writes, Ordering::SeqCst);
    }

    /// The state of every intent, the oldest first.
    pub fn states(&self) -> Vec<IntentState> {
        self.rows().intents.iter().map(|intent| intent.state).collect()
    }

    /// The history, the oldest first.
    pub fn told(&self) -> Vec<Told> {
        let rows = self.rows();
        rows.history.iter().map(|r| (r.origin, r.before.clone(), r.after.clone())).collect()
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn written(&self) -> Result<MutexGuard<'_, Rows>, StoreError> {
        let left = self.left.load(Ordering::SeqCst);
        if left == 0 {
            return Err(StoreError::Failed("the process died here".into()));
        }
        self.left.store(left - 1, Ordering::SeqCst);
        Ok(self.rows())
    }
}

impl Default for Intents {
    fn default() -> Self {
        Self::new()
    }
}

fn not_of_memory<T>() -> Result<T, StoreError> {
    Err(StoreError::Failed("not of memory".into()))
}

#[async_trait]
impl Store for Intents {
    async fn intend(&self, new: &NewIntent) -> Result<Intended, StoreError> {
        let mut rows = self.written()?;
        let known = rows.intents.iter().position(|intent| intent.new.key == new.key);
        if let Some(at) = known {
            if rows.intents[at].state != IntentState::NotApplied {
                return Ok(Intended::Known(Box::new(rows.intents[at].clone())));
            }
            let id = rows.intents[at].id;
            rows.intents[at] = Intent { id, new: new.clone(), state: IntentState::Open };
            return Ok(Intended::Fresh(id));
        }
        let id = IntentId(i64::try_from(rows.intents.len()).unwrap_or_default() + 1);
        rows.intents.push(Intent { id, new: new.clone(), state: IntentState::Open });
        Ok(Intended::Fresh(id))
    }

    async fn intent(&self, key: &str) -> Result<Option<Intent>, StoreError> {
        Ok(self.rows().intents.iter().find(|intent| intent.new.key == key).cloned())
    }

    async fn open_intents(&self, path: Option<&str>) -> Result<Vec<Intent>, StoreError> {
        let rows = self.rows();
        let open = rows.intents.iter().filter(|intent| intent.state == IntentState::Open);
        Ok(open.filter(|intent| path.is_none_or(|path| intent.new.path == path)).cloned().collect())
    }

    async fn redo_intent(
        &self,
        id: IntentId,
        before: Option<&str>,
        after: &str,
        reply: &str,
    ) -> Result<(), StoreError> {
        let mut rows = self.written()?;
        for intent in rows.intents.iter_mut().filter(|intent| intent.id == id) {
            intent.new.before = before.map(str::to_owned);
            intent.new.after = after.to_owned();
            intent.new.reply = reply.to_owned();
        }
        Ok(())
    }

    async fn settle_intent(
        &self,
        id: IntentId,
        state: IntentState,
        history: &[HistoryRow],
    ) -> Result<(), StoreError> {
        let mut rows = self.written()?;
        for intent in rows.intents.iter_mut().filter(|intent| intent.id == id) {
            intent.state = state;
        }
        rows.history.extend_from_slice(history);
        Ok(())
    }

    async fn record_history(&self, new: &[HistoryRow]) -> Result<(), StoreError> {
        self.written()?.history.extend_from_slice(new);
        Ok(())
    }

    async fn history(&self, path: &str, limit: usize) -> Result<Vec<HistoryRow>, StoreError> {
        let rows = self.rows();
        Ok(rows.history.iter().rev().filter(|row| row.path == path).take(limit).cloned().collect())
    }

    async fn take_up_bots(
        &self,
        _names: &[BotName],
        _at: DateTime<Utc>,
    ) -> Result<Vec<(BotName, BotId)>, StoreError> {
        not_of_memory()
    }

    async fn owners(&self) -> Result<Vec<Person>, StoreError> {
        not_of_memory()
    }

    async fn is_guest(&self, _person: &Person) -> Result<bool, StoreError> {
        not_of_memory()
    }

    async fn allow_guest(
        &self,
        _code_hash: &str,
        _by: Option<&Person>,
        _welcome: &str,
        _at: DateTime<Utc>,
    ) -> Result<Admission, StoreError> {
        not_of_memory()
    }

    async fn remove_guest(&self, _person: &Person) -> Result<bool, StoreError> {
        not_of_memory()
    }

    async fn guests(&self, _at: DateTime<Utc>) -> Result<Guests, StoreError> {
        not_of_memory()
    }

    async fn offer_pairing(
        &self,
        _code_hash: &str,
        _at: DateTime<Utc>,
        _expires: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        not_of_memory()
    }

    async fn redeem_pairing(
        &self,
        _code_hash: &str,
        _person: &Person,
        _at: DateTime<Utc>,
    ) -> Result<Redeemed, StoreError> {
        not_of_memory()
    }

    async fn strict_roles(&self, _signer: &str) -> Result<bool, StoreError> {
        not_of_memory()
    }

    async fn found_strict_roles(
        &self,
        _signer: &str,
        _at: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        not_of_memory()
    }

    async fn accept(&self, _events: &[NewInbox]) -> Result<Vec<Accepted>, StoreError> {
        not_of_memory()
    }

    async fn pending_commands(&self) -> Result<Vec<PendingCommand>, StoreError> {
        not_of_memory()
    }

    async fn settle_command(
        &self,
        _inbox: InboxId,
        _answers: &[NewDelivery],
        _stop: bool,
        _at: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        not_of_memory()
    }

    async fn private_place(&self, _bot: BotId) -> Result<Option<ChatKey>, StoreError> {
        not_of_memory()
    }

    async fn cursors(&self, _account: &AccountId) -> Result<Vec<Cursor>, StoreError> {
        not_of_memory()
    }

    async fn read_up_to(
        &self,
        _account: &AccountId,
        _cursors: &[Cursor],
    ) -> Result<(), StoreError> {
        not_of_memory()
    }

    async fn open_work(&self) -> Result<Vec<OpenWork>, StoreError> {
        not_of_memory()
    }

    async fn claim(
        &self,
        _conversation: ConversationId,
        _holder: &HolderId,
        _until: DateTime<Utc>,
        _known: Seq,
    ) -> Result<Option<Claimed>, StoreError> {
        not_of_memory()
    }

    async fn renew(&self, _claim: &Claim, _until: DateTime<Utc>) -> Result<(), StoreError> {
        not_of_memory()
    }

    async fn release(&self, _claim: &Claim, _clean: bool) -> Result<(), StoreError> {
        not_of_memory()
    }

    async fn holders(&self) -> Result<Vec<HolderId>, StoreError> {
        not_of_memory()
    }

    async fn free(&self, _dead: &HolderId) -> Result<(), StoreError> {
        not_of_memory()
    }

    async fn load(&self, _conversation: ConversationId, _known: Seq) -> Result<Loaded, StoreError> {
        not_of_memory()
    }

    async fn pending(&self, _conversation: ConversationId) -> Result<Vec<Pending>, StoreError> {
        not_of_memory()
    }

    async fn stop_requested(&self, _conversation: ConversationId) -> Result<bool, StoreError> {
        not_of_memory()
    }

    async fn open_turn(&self, _turn: &NewTurn) -> Result<Opened, StoreError> {
        not_of_memory()
    }

    async fn commit_step(&self, _step: &StepCommit) -> Result<Committed, StoreError> {
        not_of_memory()
    }

    async fn cut(&self, _cut: &Cut) -> Result<(), StoreError> {
        not_of_memory()
    }

    async fn status(&self, _conversation: ConversationId) -> Result<Status, StoreError> {
        not_of_memory()
    }

    async fn places_at_work(&self) -> Result<Vec<ChatKey>, StoreError> {
        not_of_memory()
    }

    async fn is_quiet(&self, _place: &ChatKey) -> Result<bool, StoreError> {
        not_of_memory()
    }

    async fn enqueue(
        &self,
        _deliveries: &[NewDelivery],
        _at: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        not_of_memory()
    }

    async fn claim_deliveries(
        &self,
        _holder: &HolderId,
        _accounts: &[AccountId],
        _now: DateTime<Utc>,
        _limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        not_of_memory()
    }

    async fn attempting(
        &self,
        _id: DeliveryId,
        _fence: Fence,
        _at: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        not_of_memory()
    }

    async fn part_sent(
        &self,
        _id: DeliveryId,
        _fence: Fence,
        _message: &PlatformMessage,
    ) -> Result<(), StoreError> {
        not_of_memory()
    }

    async fn settle(
        &self,
        _id: DeliveryId,
        _fence: Fence,
        _settlement: &Settlement,
        _at: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        not_of_memory()
    }

    async fn next_delivery(
        &self,
        _holder: &HolderId,
        _accounts: &[AccountId],
    ) -> Result<Option<DateTime<Utc>>, StoreError> {
        not_of_memory()
    }

    async fn claim_left_over(
        &self,
        _holder: &HolderId,
        _chats: &[PlatformChat],
        _account: &AccountId,
        _now: DateTime<Utc>,
    ) -> Result<Vec<Delivery>, StoreError> {
        not_of_memory()
    }

    async fn chats_with_deliveries(
        &self,
        _account: &AccountId,
    ) -> Result<Vec<PlatformChat>, StoreError> {
        not_of_memory()
    }

    async fn move_chat(
        &self,
        _account: &AccountId,
        _from: &PlatformChat,
        _to: &PlatformChat,
    ) -> Result<(), StoreError> {
        not_of_memory()
    }

    async fn data_version(&self) -> Result<i64, StoreError> {
        not_of_memory()
    }

    async fn check(&self) -> Result<(), StoreError> {
        not_of_memory()
    }
}
