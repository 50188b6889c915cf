//! A frame of the gateway, read as far as it must be to act on it.

use serde::Deserialize;
use serde_json::value::RawValue;

/// A frame.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// Something happened.
    Dispatch {
        /// Its number in the session.
        seq: u64,
        /// `MESSAGE_CREATE`.
        name: String,
        /// What happened, byte for byte.
        data: String,
    },
    /// The heart is to beat now.
    Beat,
    /// Connect again, and resume.
    Reconnect,
    /// The session is over; whether it can be resumed.
    Invalid(bool),
    /// How often the heart is to beat, in milliseconds.
    Hello(u64),
    /// A heartbeat was heard.
    Acknowledged,
    /// Of a kind that this version does not know.
    Unknown(String),
}

#[derive(Deserialize)]
struct Outer {
    op: u8,
    #[serde(default)]
    s: Option<u64>,
    #[serde(default)]
    t: Option<String>,
    #[serde(default)]
    d: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Hello {
    heartbeat_interval: u64,
}

impl Frame {
    /// Reads a frame.
    pub(super) fn read(text: &str) -> Self {
        let outer: Outer = match serde_json::from_str(text) {
            Ok(outer) => outer,
            Err(error) => {
                let (column, line) = (error.column(), error.line());
                return Self::Unknown(format!("a frame of unknown form at {line}:{column}"));
            }
        };
        let data = outer.d.as_deref().map_or("null", RawValue::get);
        match (outer.op, outer.s, outer.t) {
            (0, Some(seq), Some(name)) => Self::Dispatch { seq, name, data: data.to_owned() },
            (1, ..) => Self::Beat,
            (7, ..) => Self::Reconnect,
            (9, ..) => Self::Invalid(data == "true"),
            (10, ..) => match serde_json::from_str::<Hello>(data) {
                Ok(hello) => Self::Hello(hello.heartbeat_interval),
                Err(_) => Self::Unknown("a HELLO without an interval".to_owned()),
            },
            (11, ..) => Self::Acknowledged,
            (op, ..) => Self::Unknown(format!("a frame of the unknown kind {op}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happened_is_kept_byte_for_byte() {
        let text = r#"{"t":"MESSAGE_CREATE","s":7,"op":0,"d":{"id" : "1","b":1.0,"a":"é"}}"#;
        let (seq, name) = (7, "MESSAGE_CREATE".to_owned());
        let data = r#"{"id" : "1","b":1.0,"a":"é"}"#.to_owned();
        assert_eq!(Frame::read(text), Frame::Dispatch { seq, name, data });
    }

    #[test]
    fn the_protocols_own_frames_are_read() {
        for (text, frame) in [
            (r#"{"op":1,"d":null}"#, Frame::Beat),
            (r#"{"op":7}"#, Frame::Reconnect),
            (r#"{"op":9,"d":true}"#, Frame::Invalid(true)),
            (r#"{"op":9,"d":false}"#, Frame::Invalid(false)),
            (r#"{"op":9}"#, Frame::Invalid(false)),
            (r#"{"op":10,"d":{"heartbeat_interval":41250,"_trace":[]}}"#, Frame::Hello(41_250)),
            (r#"{"op":11}"#, Frame::Acknowledged),
        ] {
            assert_eq!(Frame::read(text), frame, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_says_so_and_nothing_of_its_content() {
        for text in [
            "",
            "{",
            "[]",
            "null",
            r#"{"op":"0"}"#,
            r#"{"op":300}"#,
            r#"{"op":0,"d":{}}"#,
            r#"{"op":10}"#,
        ] {
            assert!(matches!(Frame::read(text), Frame::Unknown(_)), "{text}");
        }
        let Frame::Unknown(why) = Frame::read(r#"{"op":0,"s":"secret word"#) else { panic!() };
        assert!(!why.contains("secret"), "{why}");
    }
}
