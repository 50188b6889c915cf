//! Whether a message arrived of which nobody knows: our own message with its text, in its chat.

use serenity::model::id::ChannelId;

use super::super::api::Api;
use super::super::encode::Part;
use super::super::place;
use super::calls::{CallError, PAGE, Refusal, Seen, messages_after};
use crate::markdown::{REPEAT_MARK, is_invisible};

/// How far is looked in a chat where much is said.
const PAGES: usize = 20;

/// What our message looks like.
pub(super) struct Ours {
    me: String,
    nonce: String,
    texts: [String; 2],
}

impl Ours {
    /// A message of `me` with this part's text, formatted or plain.
    pub(super) fn new(me: &str, part: &Part, nonce: &str) -> Self {
        let texts = [seen(&part.text), seen(&part.plain)];
        Self { me: me.to_owned(), nonce: nonce.to_owned(), texts }
    }

    fn is(&self, message: &Seen) -> bool {
        if message.author.id != self.me {
            return false;
        }
        // Where Discord still tells it, it tells everything.
        if let Some(nonce) = message.nonce.as_ref().and_then(|nonce| nonce.as_str()) {
            return nonce == self.nonce;
        }
        let shown = seen(&message.content);
        let unmarked = shown.strip_prefix(&seen(REPEAT_MARK));
        self.texts.iter().any(|text| *text == shown || Some(text.as_str()) == unmarked)
    }
}

/// What is left of a text whatever Discord does to its white space.
fn seen(text: &str) -> String {
    text.chars().filter(|c| !is_invisible(*c)).collect()
}

/// The first of our messages in `channel` that is no older than `earliest`.
pub(super) async fn find(
    api: &Api,
    channel: ChannelId,
    earliest: u64,
    ours: &Ours,
) -> Result<Option<String>, CallError> {
    let mut after = earliest.saturating_sub(1);
    for _ in 0..PAGES {
        let page = match messages_after(api, channel, after).await {
            // A chat that may not be read tells nothing; whether it may be written to shows when it is.
            Err(CallError::Refused(Refusal { status: 403 | 404, .. })) => return Ok(None),
            page => page?,
        };
        if let Some(found) = page.iter().find(|message| ours.is(message)) {
            return Ok(Some(found.id.clone()));
        }
        let newest = page.last().and_then(|message| place::number(&message.id));
        match newest {
            Some(newest) if page.len() >= PAGE => after = newest,
            _ => return Ok(None),
        }
    }
    Ok(None)
}
