//! A stand-in for a model's server on the wire, in either dialect: scripted answers in streamed chunks,
//! and a check of every request that it is given.
//!
//! What an answer is made of stands in [`reply`]; what a request says, in [`check`]; what it must be and
//! how its answer looks, in `chat` and `messages`, one a dialect; how the server speaks, in `server`;
//! and what the real servers' caches would have saved, in [`cache`].

use std::net::SocketAddr;
use std::sync::Arc;

use crate::bell::{Bell, Gate, Told};

pub mod cache;
mod chat;
pub mod check;
mod messages;
pub mod reply;
mod server;
mod signing;
#[cfg(test)]
mod tests;

pub use check::{Dialect, Request};
pub use reply::{Reply, call, calls, empty, failing, raw_sse, say, status, truncated};
use server::{Lane, State, Steps};

/// The key that the stand-in accepts. Looks like one, so that a search of the logs finds it.
pub const KEY: &str = "sk-stand-in-key-of-the-test-kit-0001";

/// The stand-in.
#[derive(Clone, Debug)]
pub struct Model {
    state: Arc<Told<State>>,
    address: SocketAddr,
}

/// Which requests a lane of answers is for.
#[derive(Clone, Debug)]
pub enum Takes {
    /// All that no earlier lane takes.
    All,
    /// Those for this model.
    Model(&'static str),
    /// Those in which this stands anywhere: instructions, documents, what was said.
    Containing(&'static str),
}

impl Model {
    /// Starts one, without any lane: every request is one too many.
    #[must_use]
    pub fn start(bell: &Arc<Bell>) -> Self {
        let state = Arc::new(Told::new(State::default(), bell));
        let address = crate::wire::serve(server::routes(&state));
        Self { state, address }
    }

    /// What `base_url` is set to.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The requests of a lane are answered by these, in order; one too many is a problem, and so is
    /// an answer that nobody asked for. The same lane again: the answers follow the earlier ones.
    pub fn script(&self, takes: Takes, replies: impl IntoIterator<Item = Reply>) {
        let name = format!("{takes:?}");
        self.state.change(|state| {
            if let Some(Lane { steps: Steps::Script(steps), .. }) =
                state.lanes.iter_mut().find(|lane| lane.name == name)
            {
                steps.extend(replies);
                return;
            }
            let steps = Steps::Script(replies.into_iter().collect());
            state.lanes.push(Lane { name, takes, steps });
        });
    }

    /// The requests of a lane are answered by a rule, as many as come: for tests in which a restart
    /// may ask once more.
    pub fn rule(&self, takes: Takes, rule: impl Fn(&Request) -> Reply + Send + Sync + 'static) {
        let name = format!("{takes:?}");
        let steps = Steps::Rule(Arc::new(rule));
        self.state.change(|state| state.lanes.push(Lane { name, takes, steps }));
    }

    /// The next break of the prefix is meant: a new episode, other instructions.
    pub fn announce_break(&self) {
        self.state.change(|state| state.breaks_announced += 1);
    }

    /// From now on the server wants strictly alternating roles, as some do.
    pub fn strict_roles(&self) {
        self.state.change(|state| state.strict_roles = true);
    }

    /// From now on the server refuses what it has signed before, as one does that has changed its keys.
    pub fn forget_signatures(&self) {
        self.state.change(|state| state.signing.key += 1);
    }

    /// From now on a thought is refused where anything before it has changed, as newer servers do.
    pub fn bind_thoughts(&self) {
        self.state.change(|state| state.signing.binds = true);
    }

    /// A gate of this server's bell.
    #[must_use]
    pub fn gate(&self) -> Gate {
        Gate::new(self.state.bell())
    }

    /// Every request, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<Arc<Request>> {
        self.state.look(|state| state.requests.clone())
    }

    /// The last request.
    #[must_use]
    pub fn last(&self) -> Option<Arc<Request>> {
        self.state.look(|state| state.requests.last().cloned())
    }

    /// What a well-behaved client would not have done, and what the script expected and never came.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        self.state.look(State::problems)
    }

    /// What went wrong up to now, without what is still expected.
    #[must_use]
    pub fn failures(&self) -> Vec<String> {
        self.state.look(|state| state.failures.clone())
    }

    /// A test that provokes them takes them away.
    pub fn take_failures(&self) -> Vec<String> {
        self.state.change(|state| std::mem::take(&mut state.failures))
    }

    /// The whole state, for a failure.
    #[must_use]
    pub fn describe(&self) -> String {
        self.state.look(|state| {
            let mut text = format!("model: {} requests\n", state.requests.len());
            for request in state.requests.iter().rev().take(3).rev() {
                text += &format!("  {}\n", request.describe());
            }
            for problem in state.problems() {
                text += &format!("  problem: {problem}\n");
            }
            text
        })
    }
}
