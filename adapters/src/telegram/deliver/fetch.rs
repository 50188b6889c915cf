//! Files that came with messages: where one is, is asked for anew each time, since the address holds for
//! an hour; then its beginning is fetched.

use std::time::Duration;

use atlas_core::event::files::Attached;
use atlas_core::ports::{FetchError, Fetched};
use serde::Deserialize;
use serde_json::json;

use super::super::api::{Api, CallError};

/// The longest wait for where a file is.
const WHERE: Duration = Duration::from_secs(10);

#[derive(Deserialize)]
struct File {
    file_path: Option<String>,
}

/// The first `most` bytes of this file.
pub(super) async fn fetch(api: &Api, file: &Attached, most: usize) -> Result<Fetched, FetchError> {
    let asked = api.call("getFile", &json!({ "file_id": file.handle }), WHERE).await;
    let File { file_path } = asked.map_err(no_address)?;
    let path = file_path.ok_or(FetchError::Gone)?;
    let (bytes, whole) = api.file(&path, most).await.map_err(not_there)?;
    Ok(Fetched { bytes, whole })
}

/// Why Telegram does not say where it is.
fn no_address(error: CallError) -> FetchError {
    match error {
        CallError::Refused(refusal) if refusal.description.contains("too big") => {
            FetchError::Refused("Telegram gives a bot no file above 20 MB".to_owned())
        }
        CallError::Refused(refusal) if refusal.code == 400 => FetchError::Gone,
        other => FetchError::Transient(other.to_string()),
    }
}

/// Why it does not come from there.
fn not_there(error: CallError) -> FetchError {
    match error {
        CallError::Refused(refusal) if matches!(refusal.code, 404 | 410) => FetchError::Gone,
        CallError::Refused(refusal) => FetchError::Transient(format!("status {}", refusal.code)),
        other => FetchError::Transient(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::stand_in::{StandIn, TOKEN};
    use super::*;

    const FOUND: &str = r#"{"ok":true,"result":{"file_id":"x","file_path":"documents/a b.txt"}}"#;

    fn file() -> Attached {
        Attached { name: "a.txt".into(), size: None, media_type: None, handle: "x".into() }
    }

    #[tokio::test]
    async fn the_beginning_of_a_file_is_fetched_from_where_telegram_says_it_is() {
        let server =
            StandIn::answering([(200, FOUND), (200, "hello"), (200, FOUND), (200, "hello")]);
        let api = server.api();
        let whole = fetch(&api, &file(), 5).await;
        assert_eq!(whole, Ok(Fetched { bytes: b"hello".to_vec(), whole: true }));
        let cut = fetch(&api, &file(), 4).await;
        assert_eq!(cut, Ok(Fetched { bytes: b"hell".to_vec(), whole: false }));
        let asked = server.asked();
        assert_eq!(asked[0], ("getFile".to_owned(), json!({"file_id": "x"})));
        assert_eq!(asked[1].0, format!("/file/bot{TOKEN}/documents/a%20b.txt"));
    }

    #[tokio::test]
    async fn what_became_of_a_file_is_told_without_the_token() {
        let big = r#"{"ok":false,"error_code":400,"description":"Bad Request: file is too big"}"#;
        let odd = r#"{"ok":false,"error_code":400,"description":"Bad Request: wrong file_id"}"#;
        let nowhere = r#"{"ok":true,"result":{"file_id":"x"}}"#;
        let asked = |answers: [(u16, &'static str); 2]| async move {
            let server = StandIn::answering(answers);
            fetch(&server.api(), &file(), 5).await.unwrap_err()
        };
        let large = FetchError::Refused("Telegram gives a bot no file above 20 MB".to_owned());
        assert_eq!(asked([(400, big), (0, "")]).await, large);
        assert_eq!(asked([(400, odd), (0, "")]).await, FetchError::Gone);
        assert_eq!(asked([(200, nowhere), (0, "")]).await, FetchError::Gone);
        assert_eq!(asked([(200, FOUND), (404, "")]).await, FetchError::Gone);
        for answers in [[(0, ""), (0, "")], [(200, FOUND), (0, "")], [(200, FOUND), (502, "x")]] {
            let error = asked(answers).await;
            assert!(matches!(error, FetchError::Transient(_)), "{error:?}");
            let secret = TOKEN.split_once(':').unwrap().1;
            assert!(!format!("{error:?} {error}").contains(secret), "{error:?}");
        }
    }

    #[tokio::test]
    async fn a_path_that_climbs_leads_nowhere_else() {
        let climbs = r#"{"ok":true,"result":{"file_path":"../../botX/getMe?a#b"}}"#;
        let server = StandIn::answering([(200, climbs), (200, "x")]);
        fetch(&server.api(), &file(), 5).await.unwrap();
        assert_eq!(server.asked()[1].0, format!("/file/bot{TOKEN}/botX/getMe%3Fa%23b"));
    }
}
