//! Sliding windows over the inbox: how much somebody, or a chat, was answered lately. Decided within
//! the transaction that stores the event, so that neither a batch nor a restart gets past a limit.

use atlas_core::ids::{ChatKey, InboxId, Person};
use atlas_core::ports::{Counts, Limit, NewDelivery, NewInbox, StoreError};

use super::error::store_error;
use super::line::Line;
use super::pairings::back;

/// The limit that an event of this person in this chat is over, as one row; NULL where it is over none.
/// Reads no more rows than the limits allow.
macro_rules! over {
    ($platform:literal, $person:literal, $person_since:literal, $person_most:literal,
     $account:literal, $chat:literal, $chat_since:literal, $chat_most:literal) => {
        concat!(
            "SELECT CASE WHEN (SELECT count(*) FROM (SELECT 1 FROM inbox WHERE platform = ",
            $platform,
            " AND person = ",
            $person,
            " AND at > ",
            $person_since,
            " AND person IS NOT NULL AND limited IS NULL LIMIT ",
            $person_most,
            " + 0)) >= ",
            $person_most,
            " THEN 'person' WHEN (SELECT count(*) FROM (SELECT 1 FROM inbox WHERE account = ",
            $account,
            " AND chat = ",
            $chat,
            " AND at > ",
            $chat_since,
            " AND person IS NOT NULL AND limited IS NULL LIMIT ",
            $chat_most,
            " + 0)) >= ",
            $chat_most,
            " THEN 'chat' END AS limited"
        )
    };
}
pub(super) use over;

/// Whether an earlier event of the window was over the same limit, and told so.
pub(super) const PERSON_TOLD: &str = "\
SELECT EXISTS (
    SELECT 1 FROM inbox
    WHERE platform = $1 AND person = $2 AND at > $3 AND limited = 'person' AND id <> $4
)";

pub(super) const CHAT_TOLD: &str = "\
SELECT EXISTS (
    SELECT 1 FROM inbox
    WHERE account = $1 AND chat = $2 AND at > $3 AND limited = 'chat' AND id <> $4
)";

/// What an event's row says of whom it counts for, and how much of that counts already.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tally<'e> {
    /// Whose it is. Nobody's where it counts for nothing.
    pub(super) person: Option<&'e str>,
    /// Where it was written, also of what is not for a conversation.
    pub(super) chat: Option<&'e str>,
    /// What counts for the person.
    pub(super) of_person: Window,
    /// What counts for the chat.
    pub(super) of_chat: Window,
}

/// How much may count in a span of time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// Rows stored after this instant count.
    pub(super) since: i64,
    /// As many of them are over the limit.
    pub(super) most: i64,
}

impl Window {
    /// No limit: no row, and too few.
    const NONE: Self = Self { since: i64::MAX, most: i64::MAX };
}

impl<'e> Tally<'e> {
    /// Of an event, counted or not.
    pub(super) fn of(counted: Option<&Counted<'e>>) -> Self {
        counted.map_or(
            Self { person: None, chat: None, of_person: Window::NONE, of_chat: Window::NONE },
            |counted| Self {
                person: Some(counted.by.id.as_str()),
                chat: Some(counted.place.chat.as_str()),
                of_person: counted.window(Counts::Person),
                of_chat: counted.window(Counts::Chat),
            },
        )
    }
}

/// Whose event is counted, and where.
pub(super) struct Counted<'e> {
    pub(super) event: &'e NewInbox,
    pub(super) by: &'e Person,
    pub(super) place: &'e ChatKey,
    pub(super) limits: &'e [Limit],
}

impl<'e> Counted<'e> {
    fn limit(&self, of: Counts) -> Option<&'e Limit> {
        self.limits.iter().find(|limit| limit.of == of)
    }

    fn window(&self, of: Counts) -> Window {
        self.limit(of).map_or(Window::NONE, |limit| Window {
            since: back(self.event.at, limit.rate.within),
            most: limit.rate.most.into(),
        })
    }

    /// What is told of it, once it is stored as over this limit: the first of its window tells so.
    pub(super) async fn notice(
        &self,
        connection: &mut Line,
        over: Counts,
        inbox: InboxId,
    ) -> Result<Option<&'e NewDelivery>, StoreError> {
        let limit = self.limit(over);
        let Some((limit, notice)) = limit.and_then(|limit| Some((limit, limit.notice.as_ref()?)))
        else {
            return Ok(None);
        };
        let told = self.was_told(connection, limit, inbox).await?;
        Ok((!told).then_some(notice))
    }

    async fn was_told(
        &self,
        connection: &mut Line,
        limit: &Limit,
        inbox: InboxId,
    ) -> Result<bool, StoreError> {
        let sql = match limit.of {
            Counts::Person => PERSON_TOLD,
            Counts::Chat => CHAT_TOLD,
        };
        let (whose, what) = self.key(limit);
        sqlx::query_scalar(sql)
            .bind(whose)
            .bind(what)
            .bind(back(self.event.at, limit.rate.within))
            .bind(inbox.0)
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
