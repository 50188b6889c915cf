//! Which bot answers where. The most specific route wins: topic or thread, chat, server, account.

use crate::audience::SharedMemory;
use crate::ids::{AccountId, BotName, PersonId, PlatformChat};

/// Who may talk in a place besides the owner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Allow {
    /// Nobody. An empty list lets nobody in.
    #[default]
    Nobody,
    /// These.
    These(Vec<PersonId>),
    /// Everybody: `["*"]`.
    Everybody,
}

impl Allow {
    /// Whether this person may talk.
    #[must_use]
    pub fn lets_in(&self, person: &PersonId) -> bool {
        match self {
            Self::Nobody => false,
            Self::These(ids) => ids.contains(person),
            Self::Everybody => true,
        }
    }
}

/// When a bot answers in a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Answer {
    /// When it is mentioned, replied to or addressed by a command.
    #[default]
    Mentioned,
    /// Always.
    All,
}

/// What holds in a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The account.
    pub account: AccountId,
    /// The server, channel, group, thread or topic; None for the whole account.
    pub chat: Option<PlatformChat>,
    /// Who answers.
    pub bot: BotName,
    /// When.
    pub answer: Answer,
    /// What a shared conversation loads; None for the bot's default.
    pub memory: Option<SharedMemory>,
    /// Who may talk besides the owner.
    pub allow: Allow,
    /// Which bots may talk.
    pub bots: Allow,
}

/// All routes of the home: one per account, and those of the configuration.
#[derive(Clone, Debug, Default)]
pub struct Router {
    routes: Vec<Route>,
}

impl Router {
    /// A router over these routes. Two for one place: the later one holds.
    #[must_use]
    pub fn new(routes: Vec<Route>) -> Self {
        Self { routes }
    }

    /// The route of a place, given what contains it, the most specific first.
    #[must_use]
    pub fn find(&self, account: &AccountId, lineage: &[PlatformChat]) -> Option<&Route> {
        let of_account = || self.routes.iter().rev().filter(|route| &route.account == account);
        lineage
            .iter()
            .find_map(|chat| of_account().find(|route| route.chat.as_ref() == Some(chat)))
            .or_else(|| of_account().find(|route| route.chat.is_none()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(chat: Option<&str>, bot: &str) -> Route {
        Route {
            account: "tg".into(),
            chat: chat.map(Into::into),
            bot: bot.into(),
            answer: Answer::Mentioned,
            memory: None,
            allow: Allow::Nobody,
            bots: Allow::Nobody,
        }
    }

    #[test]
    fn the_most_specific_route_wins() {
        let router = Router::new(vec![
            route(None, "atlas"),
            route(Some("-1"), "seo"),
            route(Some("-1:7"), "news"),
        ]);
        let bot = |lineage: &[&str]| {
            let lineage: Vec<PlatformChat> = lineage.iter().map(|&chat| chat.into()).collect();
            router.find(&"tg".into(), &lineage).map(|route| route.bot.as_str().to_owned())
        };
        assert_eq!(bot(&["-1:7", "-1"]).as_deref(), Some("news"));
        assert_eq!(bot(&["-1:8", "-1"]).as_deref(), Some("seo"));
        assert_eq!(bot(&["5"]).as_deref(), Some("atlas"));
        assert!(router.find(&"dc".into(), &["5".into()]).is_none());
    }

    #[test]
    fn an_empty_list_lets_nobody_in() {
        assert!(!Allow::These(Vec::new()).lets_in(&"5".into()));
        assert!(!Allow::default().lets_in(&"5".into()));
        assert!(Allow::Everybody.lets_in(&"5".into()));
    }
}
