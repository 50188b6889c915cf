//! The calls that the way in makes, and what a failed one means for it.

use serde_json::Value;
use serde_json::value::RawValue;
use serenity::Error;
use serenity::http::{Http, HttpError, LightMethod, Request, Route};
use serenity::model::gateway::BotGateway;
use serenity::model::id::{ApplicationId, ChannelId, InteractionId};

use super::api::cause;

/// Messages that one call gives at most.
pub(super) const PAGE: usize = 100;

/// Why a call has no result. Never holds a token, or an address with one in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CallError {
    /// The bot's token is refused.
    #[error("the token is refused")]
    Token,
    /// Discord says no, and will say it again.
    #[error("{words} ({code})")]
    Refused {
        /// Discord's own code.
        code: isize,
        /// Its words.
        words: String,
    },
    /// It may work later.
    #[error("{0}")]
    Passing(String),
}

impl From<Error> for CallError {
    fn from(error: Error) -> Self {
        match error {
            Error::Http(HttpError::UnsuccessfulRequest(refusal)) => {
                let (code, words) = (refusal.error.code, refusal.error.message);
                match refusal.status_code.as_u16() {
                    401 => Self::Token,
                    408 | 429 | 500.. => Self::Passing(format!("status {}", refusal.status_code)),
                    _ => Self::Refused { code, words },
                }
            }
            Error::Http(HttpError::Request(error)) => Self::Passing(cause(&error.without_url())),
            Error::Json(error) => Self::Passing(format!(
                "an answer of unknown form, at column {} of line {}",
                error.column(),
                error.line()
            )),
            other => Self::Passing(other.to_string()),
        }
    }
}

/// Where the gateway is, and how many sessions may still be begun.
pub(super) async fn gateway(http: &Http) -> Result<BotGateway, CallError> {
    Ok(http.get_bot_gateway().await?)
}

/// A channel, as it was given.
pub(super) async fn channel(http: &Http, id: ChannelId) -> Result<Value, CallError> {
    let request = Request::new(Route::Channel { channel_id: id }, LightMethod::Get);
    Ok(http.fire(request).await?)
}

/// The oldest messages that are newer than `after`, at most [`PAGE`] of them, the oldest first, each
/// as it was given.
pub(super) async fn messages_after(
    http: &Http,
    channel: ChannelId,
    after: u64,
) -> Result<Vec<Box<RawValue>>, CallError> {
    let parameters = vec![("after", after.to_string()), ("limit", PAGE.to_string())];
    let request = Request::new(Route::ChannelMessages { channel_id: channel }, LightMethod::Get)
        .params(Some(parameters));
    let mut messages: Vec<Box<RawValue>> = http.fire(request).await?;
    messages.reverse();
    Ok(messages)
}

/// The commands that Discord lists for this bot everywhere, as they were given: other programs may
/// have registered some of a kind that nobody here knows.
pub(super) async fn commands(
    http: &Http,
    application: ApplicationId,
) -> Result<Vec<Value>, CallError> {
    let route = Route::Commands { application_id: application };
    Ok(http.fire(Request::new(route, LightMethod::Get)).await?)
}

/// Puts this whole set in place of the one before, at once.
pub(super) async fn overwrite_commands(http: &Http, set: &Value) -> Result<(), CallError> {
    http.create_global_commands(set).await?;
    Ok(())
}

/// Answers a command for the first time.
pub(super) async fn callback(
    http: &Http,
    id: InteractionId,
    token: &str,
    answer: &Value,
) -> Result<(), CallError> {
    Ok(http.create_interaction_response(id, token, answer, Vec::new()).await?)
}
