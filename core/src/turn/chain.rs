//! Who is asked: the bot's model, and those that stand in where it does not answer. Decides; what is
//! decided is done by the steps.

use std::sync::Arc;
use std::time::Duration;

use crate::ids::ModelName;
use crate::ports::{ModelClient, ModelError};
use crate::retry::{LONGEST, back_off, jitter};
use crate::turn::model::Remedy;

/// The models of a turn, its bot's own first. Never empty.
pub(super) struct Chain {
    own: Arc<dyn ModelClient>,
    others: Vec<Arc<dyn ModelClient>>,
    /// Who is asked; 0 is the bot's own.
    at: usize,
    /// How often all of them failed.
    rounds: u32,
    /// In this round one failed that may answer later.
    may_answer: bool,
}

/// What to do after an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// The same model: what its error asks for.
    Remedy(Remedy),
    /// The next model is asked at once.
    Next,
    /// None of them answered: from the first one on again, after this time.
    Again(Duration),
}

impl Chain {
    /// The chain of a bot. None where there is no model.
    pub(super) fn new(models: Vec<Arc<dyn ModelClient>>) -> Option<Self> {
        let mut models = models.into_iter();
        let own = models.next()?;
        Some(Self { own, others: models.collect(), at: 0, rounds: 0, may_answer: false })
    }

    /// Who is asked.
    pub(super) fn model(&self) -> &Arc<dyn ModelClient> {
        self.at.checked_sub(1).and_then(|other| self.others.get(other)).unwrap_or(&self.own)
    }

    /// Begins with the model of this name, if there is one: a turn goes on as it was.
    pub(super) fn begin_with(&mut self, name: &ModelName) {
        let other = self.others.iter().position(|model| &model.info().name == name);
        self.at = other.map_or(0, |other| other + 1);
    }

    /// Begins with the first model that does not rest; with the bot's own where all of them do.
    pub(super) fn begin_after(&mut self, rests: impl Fn(&str) -> bool) {
        let all = [&self.own].into_iter().chain(&self.others);
        self.at = all.clone().position(|model| !rests(&model.info().signer)).unwrap_or_default();
    }

    /// The name that a turn has to remember: None for the bot's own.
    pub(super) fn stands_in(&self) -> Option<ModelName> {
        (self.at > 0).then(|| self.model().info().name.clone())
    }

    /// Moves on after an error, for which this would be the remedy if there were no other model.
    /// `tries` counts the ones of this model before.
    pub(super) fn after(&mut self, error: &ModelError, remedy: Remedy, tries: u32) -> After {
        if self.others.is_empty() || !passes_on(error, &remedy, tries) {
            return After::Remedy(remedy);
        }
        self.may_answer |= matches!(remedy, Remedy::Wait(_));
        if self.at < self.others.len() {
            self.at += 1;
            return After::Next;
        }
        if !self.may_answer {
            return After::Remedy(remedy);
        }
        let wait = jitter(back_off(self.rounds));
        (self.at, self.rounds, self.may_answer) = (0, self.rounds + 1, false);
        After::Again(wait)
    }
}

/// Whether another model is asked rather than this one once more: at once where it refuses or asks for
/// more than a minute, else when it has failed twice.
fn passes_on(error: &ModelError, remedy: &Remedy, tries: u32) -> bool {
    match remedy {
        Remedy::Strict | Remedy::WithoutReasoning | Remedy::Cut => false,
        Remedy::GiveUp { .. } => true,
        Remedy::Wait(_) => match error {
            ModelError::Busy { retry_after, .. } => {
                tries > 0 || retry_after.is_none_or(|asked| asked > LONGEST)
            }
            _ => tries > 0,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::EchoModel;
    use crate::turn::model::remedy;

    fn chain(names: &[&str]) -> Chain {
        let model = |name: &&str| Arc::new(EchoModel::new(name, "x")) as Arc<dyn ModelClient>;
        Chain::new(names.iter().map(model).collect()).unwrap()
    }

    /// What is done after these errors, one after the other, and who is asked then.
    fn story(chain: &mut Chain, errors: &[ModelError]) -> Vec<String> {
        let mut tries = 0;
        let mut told = Vec::new();
        for error in errors {
            let after = chain.after(error, remedy(error, tries, true, false), tries);
            let word = match after {
                After::Remedy(Remedy::Wait(_)) => "waits",
                After::Remedy(Remedy::Cut) => "cuts",
                After::Remedy(_) => "gives up",
                After::Next => "next",
                After::Again(_) => "again",
            };
            tries = if matches!(after, After::Remedy(_)) { tries + 1 } else { 0 };
            told.push(format!("{word} {}", chain.model().info().name));
        }
        told
    }

    fn busy(secs: Option<u64>) -> ModelError {
        ModelError::Busy { retry_after: secs.map(Duration::from_secs), reason: String::new() }
    }

    fn down() -> ModelError {
        ModelError::Unreachable("refused".to_owned())
    }

    fn key() -> ModelError {
        ModelError::Auth("invalid".to_owned())
    }

    #[test]
    fn a_server_that_says_when_is_waited_for_once_and_then_passed_by() {
        let told = story(&mut chain(&["a", "b"]), &[busy(Some(60)), busy(Some(1))]);
        assert_eq!(told, ["waits a", "next b"]);
    }

    #[test]
    fn a_server_that_asks_for_too_much_or_does_not_say_is_passed_by_at_once() {
        for asked in [None, Some(61)] {
            assert_eq!(story(&mut chain(&["a", "b"]), &[busy(asked)]), ["next b"]);
        }
    }

    #[test]
    fn what_is_out_of_reach_is_tried_twice() {
        let told = story(&mut chain(&["a", "b", "c"]), &[down(), down(), key(), down()]);
        assert_eq!(told, ["waits a", "next b", "next c", "waits c"]);
    }

    #[test]
    fn when_none_answers_it_goes_round_again_with_longer_rests() {
        let mut chain = chain(&["a", "b"]);
        assert_eq!(story(&mut chain, &[down(), down(), key()]), ["waits a", "next b", "again a"]);
        assert_eq!(story(&mut chain, &[busy(None), down()]), ["next b", "waits b"]);
        let After::Again(wait) = chain.after(&down(), Remedy::Wait(Duration::ZERO), 1) else {
            panic!("all of them failed again");
        };
        assert!(wait >= Duration::from_secs(2), "{wait:?}");
    }

    #[test]
    fn when_all_refuse_it_gives_up() {
        assert_eq!(story(&mut chain(&["a", "b"]), &[key(), key()]), ["next b", "gives up b"]);
    }

    #[test]
    fn a_request_that_is_too_long_is_cut_and_not_passed_on() {
        let error = ModelError::Overflow("too long".to_owned());
        assert_eq!(story(&mut chain(&["a", "b"]), &[error]), ["cuts a"]);
    }

    #[test]
    fn without_others_nothing_changes() {
        let told = story(&mut chain(&["a"]), &[busy(None), down(), key()]);
        assert_eq!(told, ["waits a", "waits a", "gives up a"]);
    }

    #[test]
    fn a_turn_begins_with_whoever_does_not_rest_and_goes_on_as_it_was() {
        let mut chain = chain(&["a", "b", "c"]);
        let own = chain.own.info().signer.clone();
        chain.begin_after(|signer| signer == own);
        assert_eq!(chain.stands_in(), Some("b".into()));
        chain.begin_after(|_| true);
        assert_eq!(chain.stands_in(), None);
        chain.begin_with(&"c".into());
        assert_eq!(chain.stands_in(), Some("c".into()));
        chain.begin_with(&"gone".into());
        assert_eq!(chain.stands_in(), None);
    }
}
