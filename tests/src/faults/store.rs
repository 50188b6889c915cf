//! The store, with the plan's crash points before and after each use case.

use std::sync::Arc;

use async_trait::async_trait;
use atlas_core::ids::*;
use atlas_core::ports::*;
use chrono::{DateTime, Utc};
use futures_util::future::BoxFuture;

use super::Plan;

/// A store that dies or fails where the plan says so.
pub struct PlannedStore {
    inner: Arc<dyn Store>,
    plan: Arc<Plan>,
    behind: Option<Behind>,
}

/// What is done behind a use case, by its name, before its caller hears of it.
type Behind = Box<dyn Fn(&str) -> BoxFuture<'static, ()> + Send + Sync>;

impl PlannedStore {
    /// Around `inner`.
    #[must_use]
    pub fn new(inner: Arc<dyn Store>, plan: &Arc<Plan>) -> Self {
        Self { inner, plan: plan.clone(), behind: None }
    }

    /// Around `inner`, with something that is done behind each use case, before its caller hears of it.
    #[must_use]
    pub fn with(
        inner: Arc<dyn Store>,
        behind: impl Fn(&str) -> BoxFuture<'static, ()> + Send + Sync + 'static,
    ) -> Self {
        let plan = Arc::new(Plan::new(None, None, None));
        Self { inner, plan, behind: Some(Box::new(behind)) }
    }

    /// One use case, by its name: the point before it, a planned failure, itself, the point after.
    async fn pass<T: Send>(
        &self,
        name: &str,
        use_case: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.plan.before(name);
        if self.plan.fails(name) {
            return Err(StoreError::Unwritable("no space left on device (planned)".to_owned()));
        }
        let done = use_case.await;
        if let Some(behind) = &self.behind {
            behind(name).await;
        }
        if done.is_ok() {
            self.plan.after(name);
        }
        done
    }
}

#[async_trait]
impl Store for PlannedStore {
    async fn take_up_bots(
        &self,
        names: &[BotName],
        at: DateTime<Utc>,
    ) -> Result<Vec<(BotName, BotId)>, StoreError> {
        self.pass("take_up_bots", self.inner.take_up_bots(names, at)).await
    }

    async fn owners(&self) -> Result<Vec<Person>, StoreError> {
        self.pass("owners", self.inner.owners()).await
    }

    async fn offer_pairing(
        &self,
        code_hash: &str,
        at: DateTime<Utc>,
        expires: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        self.pass("offer_pairing", self.inner.offer_pairing(code_hash, at, expires)).await
    }

    async fn redeem_pairing(
        &self,
        code_hash: &str,
        person: &Person,
        at: DateTime<Utc>,
    ) -> Result<Redeemed, StoreError> {
        self.pass("redeem_pairing", self.inner.redeem_pairing(code_hash, person, at)).await
    }

    async fn is_guest(&self, person: &Person) -> Result<bool, StoreError> {
        self.pass("is_guest", self.inner.is_guest(person)).await
    }

    async fn allow_guest(
        &self,
        code_hash: &str,
        by: Option<&Person>,
        welcome: &str,
        at: DateTime<Utc>,
    ) -> Result<Admission, StoreError> {
        self.pass("allow_guest", self.inner.allow_guest(code_hash, by, welcome, at)).await
    }

    async fn remove_guest(&self, person: &Person) -> Result<bool, StoreError> {
        self.pass("remove_guest", self.inner.remove_guest(person)).await
    }

    async fn guests(&self, at: DateTime<Utc>) -> Result<Guests, StoreError> {
        self.pass("guests", self.inner.guests(at)).await
    }

    async fn strict_roles(&self, signer: &str) -> Result<bool, StoreError> {
        self.pass("strict_roles", self.inner.strict_roles(signer)).await
    }

    async fn found_strict_roles(&self, signer: &str, at: DateTime<Utc>) -> Result<(), StoreError> {
        self.pass("found_strict_roles", self.inner.found_strict_roles(signer, at)).await
    }

    async fn accept(&self, events: &[NewInbox]) -> Result<Vec<Accepted>, StoreError> {
        self.pass("accept", self.inner.accept(events)).await
    }

    async fn pending_commands(&self) -> Result<Vec<PendingCommand>, StoreError> {
        self.pass("pending_commands", self.inner.pending_commands()).await
    }

    async fn settle_command(
        &self,
        inbox: InboxId,
        answers: &[NewDelivery],
        stop: bool,
        at: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        self.pass("settle_command", self.inner.settle_command(inbox, answers, stop, at)).await
    }

    async fn private_place(&self, bot: BotId) -> Result<Option<ChatKey>, StoreError> {
        self.pass("private_place", self.inner.private_place(bot)).await
    }

    async fn cursors(&self, account: &AccountId) -> Result<Vec<Cursor>, StoreError> {
        self.pass("cursors", self.inner.cursors(account)).await
    }

    async fn read_up_to(&self, account: &AccountId, cursors: &[Cursor]) -> Result<(), StoreError> {
        self.pass("read_up_to", self.inner.read_up_to(account, cursors)).await
    }

    async fn open_work(&self) -> Result<Vec<OpenWork>, StoreError> {
        self.pass("open_work", self.inner.open_work()).await
    }

    async fn claim(
        &self,
        conversation: ConversationId,
        holder: &HolderId,
        until: DateTime<Utc>,
        known: Seq,
    ) -> Result<Option<Claimed>, StoreError> {
        self.pass("claim", self.inner.claim(conversation, holder, until, known)).await
    }

    async fn renew(&self, claim: &Claim, until: DateTime<Utc>) -> Result<(), StoreError> {
        self.pass("renew", self.inner.renew(claim, until)).await
    }

    async fn release(&self, claim: &Claim, clean: bool) -> Result<(), StoreError> {
        self.pass("release", self.inner.release(claim, clean)).await
    }

    async fn holders(&self) -> Result<Vec<HolderId>, StoreError> {
        self.pass("holders", self.inner.holders()).await
    }

    async fn free(&self, dead: &HolderId) -> Result<(), StoreError> {
        self.pass("free", self.inner.free(dead)).await
    }

    async fn load(&self, conversation: ConversationId, known: Seq) -> Result<Loaded, StoreError> {
        self.pass("load", self.inner.load(conversation, known)).await
    }

    async fn pending(&self, conversation: ConversationId) -> Result<Vec<Pending>, StoreError> {
        self.pass("pending", self.inner.pending(conversation)).await
    }

    async fn stop_requested(&self, conversation: ConversationId) -> Result<bool, StoreError> {
        self.pass("stop_requested", self.inner.stop_requested(conversation)).await
    }

    async fn open_turn(&self, turn: &NewTurn) -> Result<Opened, StoreError> {
        self.pass("open_turn", self.inner.open_turn(turn)).await
    }

    async fn commit_step(&self, step: &StepCommit) -> Result<Committed, StoreError> {
        self.pass("commit_step", self.inner.commit_step(step)).await
    }

    async fn cut(&self, cut: &Cut) -> Result<(), StoreError> {
        self.pass("cut", self.inner.cut(cut)).await
    }

    async fn status(&self, conversation: ConversationId) -> Result<Status, StoreError> {
        self.pass("status", self.inner.status(conversation)).await
    }

    async fn places_at_work(&self) -> Result<Vec<ChatKey>, StoreError> {
        self.pass("places_at_work", self.inner.places_at_work()).await
    }

    async fn is_quiet(&self, place: &ChatKey) -> Result<bool, StoreError> {
        self.pass("is_quiet", self.inner.is_quiet(place)).await
    }

    async fn enqueue(
        &self,
        deliveries: &[NewDelivery],
        at: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        self.pass("enqueue", self.inner.enqueue(deliveries, at)).await
    }

    async fn claim_deliveries(
        &self,
        holder: &HolderId,
        accounts: &[AccountId],
        now: DateTime<Utc>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        self.pass("claim_deliveries", self.inner.claim_deliveries(holder, accounts, now, limit))
            .await
    }

    async fn attempting(
        &self,
        id: DeliveryId,
        fence: Fence,
        at: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        self.pass("attempting", self.inner.attempting(id, fence, at)).await
    }

    async fn part_sent(
        &self,
        id: DeliveryId,
        fence: Fence,
        message: &PlatformMessage,
    ) -> Result<(), StoreError> {
        self.pass("part_sent", self.inner.part_sent(id, fence, message)).await
    }

    async fn settle(
        &self,
        id: DeliveryId,
        fence: Fence,
        settlement: &Settlement,
        at: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        self.pass("settle", self.inner.settle(id, fence, settlement, at)).await
    }

    async fn next_delivery(
        &self,
        holder: &HolderId,
        accounts: &[AccountId],
    ) -> Result<Option<DateTime<Utc>>, StoreError> {
        self.pass("next_delivery", self.inner.next_delivery(holder, accounts)).await
    }

    async fn claim_left_over(
        &self,
        holder: &HolderId,
        chats: &[PlatformChat],
        account: &AccountId,
        now: DateTime<Utc>,
    ) -> Result<Vec<Delivery>, StoreError> {
        self.pass("claim_left_over", self.inner.claim_left_over(holder, chats, account, now)).await
    }

    async fn chats_with_deliveries(
        &self,
        account: &AccountId,
    ) -> Result<Vec<PlatformChat>, StoreError> {
        self.pass("chats_with_deliveries", self.inner.chats_with_deliveries(account)).await
    }

    async fn move_chat(
        &self,
        account: &AccountId,
        from: &PlatformChat,
        to: &PlatformChat,
    ) -> Result<(), StoreError> {
        self.pass("move_chat", self.inner.move_chat(account, from, to)).await
    }

    async fn intend(&self, intent: &NewIntent) -> Result<Intended, StoreError> {
        self.pass("intend", self.inner.intend(intent)).await
    }

    async fn intent(&self, key: &str) -> Result<Option<Intent>, StoreError> {
        self.pass("intent", self.inner.intent(key)).await
    }

    async fn open_intents(&self, path: Option<&str>) -> Result<Vec<Intent>, StoreError> {
        self.pass("open_intents", self.inner.open_intents(path)).await
    }

    async fn redo_intent(
        &self,
        id: IntentId,
        before: Option<&str>,
        after: &str,
        reply: &str,
    ) -> Result<(), StoreError> {
        self.pass("redo_intent", self.inner.redo_intent(id, before, after, reply)).await
    }

    async fn settle_intent(
        &self,
        id: IntentId,
        state: IntentState,
        history: &[HistoryRow],
    ) -> Result<(), StoreError> {
        self.pass("settle_intent", self.inner.settle_intent(id, state, history)).await
    }

    async fn record_history(&self, rows: &[HistoryRow]) -> Result<(), StoreError> {
        self.pass("record_history", self.inner.record_history(rows)).await
    }

    async fn history(&self, path: &str, limit: usize) -> Result<Vec<HistoryRow>, StoreError> {
        self.pass("history", self.inner.history(path, limit)).await
    }

    async fn data_version(&self) -> Result<i64, StoreError> {
        self.pass("data_version", self.inner.data_version()).await
    }

    async fn check(&self) -> Result<(), StoreError> {
        self.pass("check", self.inner.check()).await
    }
}
