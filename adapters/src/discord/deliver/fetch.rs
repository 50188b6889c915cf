//! Files that came with messages: their address holds for a day, and their message tells a new one.

use atlas_core::event::files::Attached;
use atlas_core::ports::{FetchError, Fetched};
use serenity::model::id::{ChannelId, MessageId};

use super::super::api::Api;
use super::super::attachment::Handle;
use super::calls::{self, CallError};

/// Said of a file that is not where Discord keeps files.
const ELSEWHERE: &str = "it is not kept by Discord";

/// The first `most` bytes of this file.
pub(super) async fn fetch(api: &Api, file: &Attached, most: usize) -> Result<Fetched, FetchError> {
    let handle = Handle::of(file).ok_or(FetchError::Gone)?;
    match download(api, &handle.url, most).await {
        // No longer there, or there for nobody who comes by this address.
        Err(FetchError::Gone) => {
            let address = anew(api, &handle).await?;
            download(api, &address, most).await
        }
        result => result,
    }
}

/// Where it is now.
async fn anew(api: &Api, handle: &Handle) -> Result<String, FetchError> {
    let (channel, message) = (ChannelId::new(handle.channel), MessageId::new(handle.message));
    match calls::message(api, channel, message).await {
        Ok(message) => handle.found_in(&message).ok_or(FetchError::Gone),
        Err(CallError::Refused(refusal)) if matches!(refusal.status, 403 | 404) => {
            Err(FetchError::Gone)
        }
        Err(error) => Err(FetchError::Transient(error.to_string())),
    }
}

async fn download(api: &Api, address: &str, most: usize) -> Result<Fetched, FetchError> {
    let broken = |error| FetchError::Transient(calls::broken(error).to_string());
    let asked = api.file(address).await;
    let asked = asked.ok_or_else(|| FetchError::Refused(ELSEWHERE.to_owned()))?;
    let mut answer = asked.map_err(broken)?;
    match answer.status().as_u16() {
        200 => {}
        403 | 404 | 410 => return Err(FetchError::Gone),
        status => return Err(FetchError::Transient(format!("status {status}"))),
    }
    let mut bytes = Vec::new();
    while let Some(more) = answer.chunk().await.map_err(broken)? {
        let left = most - bytes.len();
        bytes.extend_from_slice(more.get(..left).unwrap_or(&more));
        if more.len() > left {
            return Ok(Fetched { bytes, whole: false });
        }
    }
    Ok(Fetched { bytes, whole: true })
}
