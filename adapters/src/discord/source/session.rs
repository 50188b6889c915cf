//! A session of the gateway: what is needed to resume it, and how far it has been stored.

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use serenity::model::gateway::GatewayIntents;

/// A session, or none yet.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// Its name and the address to resume it at.
    known: Option<(String, String)>,
    /// The number of the last event that was heard.
    heard: u64,
    /// The number up to which every event is stored, or held in memory until its chat's backlog is
    /// read. Resumed, and told with every heartbeat: what could not be stored is told again.
    stored: Option<u64>,
    /// A number was left out: something happened that was not told.
    gap: bool,
}

impl Session {
    /// READY: it begins.
    pub(super) fn begun(&mut self, id: String, address: String) {
        self.known = Some((id, address));
    }

    /// An event of this number was heard.
    pub(super) fn heard(&mut self, seq: u64) {
        self.gap |= seq > self.heard + 1;
        self.heard = self.heard.max(seq);
    }

    /// Everything up to this number is stored.
    pub(super) fn stored(&mut self, seq: u64) {
        self.stored = self.stored.max(Some(seq));
    }

    /// Whether whatever happened in it until now was told: no number was left out.
    pub(super) fn is_continuous(&self) -> bool {
        self.known.is_some() && !self.gap
    }

    /// It cannot be resumed any more.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Whether there is one to resume.
    pub(super) fn can_resume(&self) -> bool {
        self.known.is_some()
    }

    /// Where it is resumed; empty where there is none.
    pub(super) fn address(&self) -> String {
        self.known.as_ref().map(|(_, address)| address.clone()).unwrap_or_default()
    }

    /// What resumes it.
    pub(super) fn resume(&mut self, token: &SecretString) -> Value {
        // What was heard and not stored comes again.
        self.heard = self.stored.unwrap_or_default();
        let id = self.known.as_ref().map(|(id, _)| id.as_str()).unwrap_or_default();
        json!({"op": 6, "d": {
            "token": token.expose_secret(), "session_id": id, "seq": self.heard,
        }})
    }

    /// A heartbeat.
    pub(super) fn beat(&self) -> Value {
        json!({"op": 1, "d": self.stored})
    }

    /// What begins a new one.
    pub(super) fn identify(token: &SecretString, intents: GatewayIntents) -> Value {
        json!({"op": 2, "d": {
            "token": token.expose_secret(), "intents": intents.bits(), "compress": false,
            "large_threshold": 50, "shard": [0, 1],
            "properties": {"os": "linux", "browser": "atlas", "device": "atlas"},
        }})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_resumed_from_what_was_stored() {
        let mut session = Session::default();
        assert!(!session.can_resume() && !session.is_continuous());
        assert_eq!(session.beat(), json!({"op": 1, "d": null}));
        session.begun("s".into(), "ws://x".into());
        for seq in 1..=5 {
            session.heard(seq);
        }
        session.stored(3);
        session.stored(2);
        assert_eq!(session.beat()["d"], 3);
        let again = json!({"token": "t", "session_id": "s", "seq": 3});
        assert_eq!(session.resume(&"t".into())["d"], again);
        session.heard(4);
        assert!(session.is_continuous(), "what comes again is no gap");
        session.heard(6);
        assert!(!session.is_continuous());
        session.forget();
        assert!(!session.can_resume());
    }
}
