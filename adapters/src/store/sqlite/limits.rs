//! Sliding windows over the inbox: how much somebody, or a chat, was answered lately. Decided within
//! the transaction that stores the event, so that neither a batch nor a restart gets past a limit.

use atlas_core::ids::{ChatKey, Person};
use atlas_core::ports::{Counts, Limit, NewDelivery, NewInbox, StoreError};

use super::error::store_error;
use super::line::Line;
use super::pairings::back;
use crate::store::sql::Word as _;

/// Whether the event is stored already, and how much was answered lately to the person and in the
/// chat. Reads no more rows than the limits allow.
pub(super) const COUNTS: &str = "\
SELECT EXISTS (SELECT 1 FROM inbox WHERE account = $1 AND key = $2), (
    SELECT count(*) FROM (
        SELECT 1 FROM inbox WHERE platform = $3 AND person = $4 AND at > $5
        AND person IS NOT NULL AND limited IS NULL LIMIT $6 + 0
    )
), (
    SELECT count(*) FROM (
        SELECT 1 FROM inbox WHERE account = $7 AND chat = $8 AND at > $9
        AND person IS NOT NULL AND limited IS NULL LIMIT $10 + 0
    )
)";

/// Whether an earlier event of the window was over the same limit, and told so.
pub(super) const PERSON_TOLD: &str = "\
SELECT EXISTS (
    SELECT 1 FROM inbox WHERE platform = $1 AND person = $2 AND at > $3 AND limited = 'person'
)";

pub(super) const CHAT_TOLD: &str = "\
SELECT EXISTS (
    SELECT 1 FROM inbox WHERE account = $1 AND chat = $2 AND at > $3 AND limited = 'chat'
)";

/// What an event's row says of whom it counts for; nothing where it counts for nobody.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally<'e> {
    /// Whose it is.
    pub(super) person: Option<&'e str>,
    /// Where it was written, also of what is not for a conversation.
    pub(super) chat: Option<&'e str>,
    /// The limit that it was over.
    pub(super) limited: Option<&'static str>,
}

/// Whose event is counted, and where.
pub(super) struct Counted<'e> {
    pub(super) event: &'e NewInbox,
    pub(super) by: &'e Person,
    pub(super) place: &'e ChatKey,
    pub(super) limits: &'e [Limit],
}

impl<'e> Counted<'e> {
    /// The limit that this event is over. A duplicate is over none: it is nothing new.
    pub(super) async fn over(
        &self,
        connection: &mut Line,
    ) -> Result<Option<&'e Limit>, StoreError> {
        let window = |of: Counts| {
            let limit = self.limits.iter().find(|limit| limit.of == of);
            limit.map_or((i64::MAX, 0), |limit| {
                (back(self.event.at, limit.rate.within), limit.rate.most)
            })
        };
        let ((person_since, person_most), (chat_since, chat_most)) =
            (window(Counts::Person), window(Counts::Chat));
        let (stored, of_person, of_chat): (bool, i64, i64) = sqlx::query_as(COUNTS)
            .bind(self.event.account.as_str())
            .bind(&*self.event.key)
            .bind(self.event.platform.as_str())
            .bind(self.by.id.as_str())
            .bind(person_since)
            .bind(person_most)
            .bind(self.place.account.as_str())
            .bind(self.place.chat.as_str())
            .bind(chat_since)
            .bind(chat_most)
            .fetch_one(connection)
            .await
            .map_err(store_error)?;
        let is_over = |limit: &&Limit| {
            let count = match limit.of {
                Counts::Person => of_person,
                Counts::Chat => of_chat,
            };
            count >= i64::from(limit.rate.most)
        };
        Ok(self.limits.iter().find(is_over).filter(|_| !stored))
    }

    /// What its row says.
    pub(super) fn tally(&self, over: Option<&Limit>) -> Tally<'e> {
        Tally {
            person: Some(self.by.id.as_str()),
            chat: Some(self.place.chat.as_str()),
            limited: over.map(|limit| limit.of.word()),
        }
    }

    /// What is told of it, before it is stored: the first over a limit in its window tells so.
    pub(super) async fn notice(
        &self,
        connection: &mut Line,
        over: Option<&'e Limit>,
    ) -> Result<Option<&'e NewDelivery>, StoreError> {
        let Some((limit, notice)) = over.and_then(|limit| Some((limit, limit.notice.as_ref()?)))
        else {
            return Ok(None);
        };
        let told = self.was_told(connection, limit).await?;
        Ok((!told).then_some(notice))
    }

    async fn was_told(&self, connection: &mut Line, limit: &Limit) -> Result<bool, StoreError> {
        let sql = match limit.of {
            Counts::Person => PERSON_TOLD,
            Counts::Chat => CHAT_TOLD,
        };
        let (whose, what) = self.key(limit);
        sqlx::query_scalar(sql)
            .bind(whose)
            .bind(what)
            .bind(back(self.event.at, limit.rate.within))
            .fetch_one(connection)
            .await
            .map_err(store_error)
    }

    fn key(&self, limit: &Limit) -> (&'e str, &'e str) {
        match limit.of {
            Counts::Person => (self.event.platform.as_str(), self.by.id.as_str()),
            Counts::Chat => (self.place.account.as_str(), self.place.chat.as_str()),
        }
    }
}
