//! Commands that wait for their answer: Discord takes one for a quarter of an hour, by a token that
//! came with the command. They live in this process alone; after a restart, and after that time, an
//! answer is an ordinary message.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use atlas_core::ids::PlatformMessage;
use secrecy::{ExposeSecret, SecretString};
use serenity::model::id::ApplicationId;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// How long Discord takes an answer, less what a call may take.
const LIFE: Duration = Duration::from_secs(14 * 60 + 30);
/// How long an answer waits for the command to be acknowledged; Discord itself allows three seconds.
const PATIENCE: Duration = Duration::from_secs(5);

/// What an answer to a command is sent with.
#[derive(Clone, Debug)]
pub(super) struct Answerable {
    /// The bot's application.
    pub(super) application: ApplicationId,
    token: SecretString,
}

impl Answerable {
    /// The command's token: whoever has it may answer in the bot's name.
    pub(super) fn token(&self) -> &str {
        self.token.expose_secret()
    }
}

/// How far a command's acknowledgement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Asked,
    Acknowledged,
    Refused,
}

struct Live {
    answerable: Answerable,
    until: Instant,
    state: watch::Sender<State>,
}

/// The commands of one account that can still be answered in their place.
#[derive(Default)]
pub(super) struct Interactions {
    live: Mutex<BTreeMap<String, Live>>,
}

impl Interactions {
    /// A command came. It is not acknowledged yet.
    pub(super) fn asked(&self, id: u64, application: ApplicationId, token: SecretString) {
        let now = Instant::now();
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        live.retain(|_, live| live.until > now);
        let state = watch::Sender::new(State::Asked);
        let answerable = Answerable { application, token };
        live.insert(id.to_string(), Live { answerable, until: now + LIFE, state });
    }

    /// Discord took the acknowledgement, or did not.
    pub(super) fn acknowledged(&self, id: u64, taken: bool) {
        let state = if taken { State::Acknowledged } else { State::Refused };
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(live) = live.get(&id.to_string()) {
            live.state.send_replace(state);
        }
    }

    /// What the answer to this command is sent with, once it is acknowledged. None where it is too
    /// late, where it never was acknowledged, and for anything but a command of this process.
    pub(super) async fn answerable(&self, command: &PlatformMessage) -> Option<Answerable> {
        self.answerable_by(command, Instant::now() + PATIENCE).await
    }

    async fn answerable_by(&self, command: &PlatformMessage, by: Instant) -> Option<Answerable> {
        let (answerable, until, mut state) = {
            let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
            let live = live.get(command.as_str())?;
            (live.answerable.clone(), live.until, live.state.subscribe())
        };
        if until <= Instant::now() {
            return None;
        }
        let settled = timeout_at(by, state.wait_for(|state| *state != State::Asked)).await;
        let acknowledged = matches!(settled, Ok(Ok(state)) if *state == State::Acknowledged);
        acknowledged.then_some(answerable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> Interactions {
        let interactions = Interactions::default();
        interactions.asked(7, ApplicationId::new(1), "a token".into());
        interactions
    }

    #[tokio::test]
    async fn an_answer_waits_for_the_acknowledgement() {
        let interactions = asked();
        let command = "7".into();
        let (answer, ()) = tokio::join!(interactions.answerable(&command), async {
            interactions.acknowledged(7, true);
        });
        let answer = answer.unwrap();
        assert_eq!((answer.token(), answer.application.get()), ("a token", 1));
    }

    #[tokio::test]
    async fn a_command_that_was_not_acknowledged_is_answered_elsewhere() {
        let interactions = asked();
        let soon = Instant::now() + Duration::from_millis(1);
        assert!(interactions.answerable_by(&"7".into(), soon).await.is_none(), "after a while");
        interactions.acknowledged(7, false);
        assert!(interactions.answerable(&"7".into()).await.is_none());
        assert!(interactions.answerable(&"8".into()).await.is_none());
    }

    #[tokio::test]
    async fn a_quarter_of_an_hour_later_it_is_too_late() {
        let interactions = asked();
        interactions.acknowledged(7, true);
        if let Some(live) = interactions.live.lock().unwrap().get_mut("7") {
            live.until = Instant::now();
        }
        assert!(interactions.answerable(&"7".into()).await.is_none());
    }

    #[test]
    fn its_token_is_not_shown() {
        let answerable = Answerable { application: ApplicationId::new(1), token: "secret".into() };
        assert!(!format!("{answerable:?}").contains("secret"));
    }
}
