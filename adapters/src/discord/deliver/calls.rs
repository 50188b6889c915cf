//! The calls that the way out makes, and what can come of one. What a failure means is for `refused`
//! to say.

use std::fmt;
use std::time::Duration;

use reqwest12::Response;
use reqwest12::header::RETRY_AFTER;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serenity::builder::CreateAttachment;
use serenity::http::{
    DiscordJsonError, HttpError, LightMethod, Multipart, MultipartUpload, Request, Route,
};
use serenity::model::id::{ChannelId, MessageId};

use super::super::api::{Api, cause};
use super::super::interactions::Answerable;

/// The messages that one look gives at most.
pub(super) const PAGE: usize = 100;
/// Who asked alone sees it.
const EPHEMERAL: u64 = 1 << 6;

/// Why a call has no result. No variant ever holds a token, or an address with one in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CallError {
    /// The call did not happen.
    Unreachable(String),
    /// The answer is lost or cannot be read: the call may have happened.
    Lost(String),
    /// Discord, or what stands before it, says no.
    Refused(Refusal),
}

/// Discord's no.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Refusal {
    /// Of HTTP.
    pub(super) status: u16,
    /// Discord's own; 0 where there is none.
    pub(super) code: isize,
    /// In Discord's words.
    pub(super) words: String,
    /// How long to wait.
    pub(super) retry_after: Option<Duration>,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(why) => write!(f, "no connection: {why}"),
            Self::Lost(why) => write!(f, "no answer: {why}"),
            Self::Refused(Refusal { status, code: 0, words, .. }) => {
                write!(f, "{words} (status {status})")
            }
            Self::Refused(refusal) => write!(f, "{} ({})", refusal.words, refusal.code),
        }
    }
}

/// A message of a chat, as far as it tells whether it is ours.
#[derive(Deserialize)]
pub(super) struct Seen {
    pub(super) id: String,
    #[serde(default)]
    pub(super) content: String,
    pub(super) author: Author,
    pub(super) nonce: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct Author {
    pub(super) id: String,
}

#[derive(Deserialize)]
struct Made {
    id: String,
    #[serde(default)]
    flags: u64,
}

#[derive(Deserialize)]
struct Limited {
    retry_after: f64,
}

/// Posts a message, with a file of this name and text. Gives its id.
pub(super) async fn create(
    api: &Api,
    channel: ChannelId,
    body: Value,
    file: Option<(&str, &str)>,
) -> Result<String, CallError> {
    let route = Route::ChannelMessages { channel_id: channel };
    let made: Made = call(api, with(route, LightMethod::Post, body, file)?).await?;
    Ok(made.id)
}

/// Puts the answer in the place of a command's acknowledgement.
pub(super) async fn edit_answer(
    api: &Api,
    to: &Answerable,
    body: Value,
    file: Option<(&str, &str)>,
) -> Result<String, CallError> {
    let made: Made = call(api, with(original(to), LightMethod::Patch, body, file)?).await?;
    Ok(made.id)
}

/// The flag of a message that only who gave the command sees, if the answer so far is one.
pub(super) async fn privacy(api: &Api, to: &Answerable) -> Result<u64, CallError> {
    let made: Made = call(api, Request::new(original(to), LightMethod::Get)).await?;
    Ok(made.flags & EPHEMERAL)
}

/// One more message in answer to a command.
pub(super) async fn follow_up(
    api: &Api,
    to: &Answerable,
    body: Value,
) -> Result<String, CallError> {
    let route =
        Route::WebhookFollowupMessages { application_id: to.application, token: to.token() };
    let made: Made = call(api, with(route, LightMethod::Post, body, None)?).await?;
    Ok(made.id)
}

/// The oldest messages that are newer than `after`, the oldest first, at most [`PAGE`].
pub(super) async fn messages_after(
    api: &Api,
    channel: ChannelId,
    after: u64,
) -> Result<Vec<Seen>, CallError> {
    let parameters = vec![("after", after.to_string()), ("limit", PAGE.to_string())];
    let route = Route::ChannelMessages { channel_id: channel };
    let request = Request::new(route, LightMethod::Get).params(Some(parameters));
    let mut seen: Vec<Seen> = call(api, request).await?;
    seen.reverse();
    Ok(seen)
}

/// A message, as it is told now.
pub(super) async fn message(
    api: &Api,
    channel: ChannelId,
    message: MessageId,
) -> Result<Value, CallError> {
    let route = Route::ChannelMessage { channel_id: channel, message_id: message };
    call(api, Request::new(route, LightMethod::Get)).await
}

/// The bot's own id.
pub(super) async fn me(api: &Api) -> Result<String, CallError> {
    let me: Author = call(api, Request::new(Route::UserMe, LightMethod::Get)).await?;
    Ok(me.id)
}

/// Shows that the bot is typing, for ten seconds.
pub(super) async fn typing(api: &Api, channel: ChannelId) -> Result<(), CallError> {
    let request = Request::new(Route::ChannelTyping { channel_id: channel }, LightMethod::Post);
    let answer = api.raw(request).await.map_err(lost)?;
    accepted(answer).await.map(|_| ())
}

fn original(to: &Answerable) -> Route<'_> {
    Route::WebhookOriginalInteractionResponse { application_id: to.application, token: to.token() }
}

fn with<'a>(
    route: Route<'a>,
    method: LightMethod,
    mut body: Value,
    file: Option<(&str, &str)>,
) -> Result<Request<'a>, CallError> {
    let request = Request::new(route, method);
    let Some((name, text)) = file else { return Ok(request.body(Some(json_of(&body)?))) };
    body["attachments"] = json!([{ "id": 0, "filename": name }]);
    let upload = MultipartUpload::Attachments(vec![CreateAttachment::bytes(text, name)]);
    let payload_json = Some(body.to_string());
    Ok(request.multipart(Some(Multipart { upload, fields: Vec::new(), payload_json })))
}

fn json_of(body: &impl Serialize) -> Result<Vec<u8>, CallError> {
    serde_json::to_vec(body)
        .map_err(|error| CallError::Unreachable(format!("the call cannot be written: {error}")))
}

async fn call<T: DeserializeOwned>(api: &Api, request: Request<'_>) -> Result<T, CallError> {
    let answer = api.raw(request).await.map_err(lost)?;
    let body = accepted(answer).await?;
    serde_json::from_slice(&body).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        CallError::Lost(format!("it is unreadable at column {column} of line {line}"))
    })
}

/// The body of an answer that says yes.
async fn accepted(answer: Response) -> Result<Vec<u8>, CallError> {
    let status = answer.status();
    let header =
        answer.headers().get(RETRY_AFTER).and_then(|wait| wait.to_str().ok()?.parse().ok());
    let body = answer.bytes().await.map_err(broken)?;
    if status.is_success() {
        return Ok(body.to_vec());
    }
    let said: Option<DiscordJsonError> = serde_json::from_slice(&body).ok();
    let limited: Option<Limited> = serde_json::from_slice(&body).ok();
    let wait = limited.map(|limited| limited.retry_after).or(header);
    Err(CallError::Refused(Refusal {
        status: status.as_u16(),
        code: said.as_ref().map_or(0, |said| said.code),
        words: said.map_or_else(|| "an answer that is not Discord's".to_owned(), words),
        retry_after: wait.and_then(|wait| Duration::try_from_secs_f64(wait).ok()),
    }))
}

/// What it says, and of which field.
fn words(said: DiscordJsonError) -> String {
    let details = said.errors.iter().map(|error| format!("; {}: {}", error.path, error.message));
    format!("{}{}", said.message.trim_end_matches('.'), details.collect::<String>())
}

fn lost(error: serenity::Error) -> CallError {
    match error {
        serenity::Error::Http(HttpError::Request(error)) => broken(error),
        // What there is before a call is made: an address, a header.
        serenity::Error::Http(HttpError::Url(_) | HttpError::InvalidHeader(_)) => {
            CallError::Unreachable("the call has no address".to_owned())
        }
        _ => CallError::Lost("its answer cannot be read".to_owned()),
    }
}

pub(super) fn broken(error: reqwest12::Error) -> CallError {
    let error = error.without_url();
    let before_sending = error.is_connect() || error.is_builder();
    let why = cause(&error);
    if before_sending { CallError::Unreachable(why) } else { CallError::Lost(why) }
}
