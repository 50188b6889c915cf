use std::net::TcpListener;

use atlas_core::ids::AccountId;
use serde_json::{Value, json};

use super::super::stand_in::{StandIn, TOKEN};
use super::super::{CheckError, Settings, TelegramAccount};
use super::*;

const ME: &str =
    r#"{"ok":true,"result":{"id":7,"is_bot":true,"first_name":"A","username":"AtlasBot"}}"#;
const NO_WEBHOOK: &str = r#"{"ok":true,"result":{"url":"","pending_update_count":0}}"#;

fn account(base: &str, token: &str) -> Result<TelegramAccount, BadAccount> {
    let settings = Settings { api_base: Some(base.to_owned()), ..Settings::default() };
    TelegramAccount::new(AccountId("tg".into()), token.into(), settings)
}

#[test]
fn an_account_that_cannot_work_is_refused_without_showing_its_token() {
    for token in ["", "1:secret\n", "1:secret/../x", "1:sécret"] {
        let error = account("https://e.org", token).err().unwrap();
        assert_eq!(error, BadAccount::Token);
        assert!(!error.to_string().contains("secret"));
    }
    for base in ["", "e.org", "ftp://e.org", "http://"] {
        assert_eq!(account(base, TOKEN).err(), Some(BadAccount::Base(base.to_owned())));
    }
}

#[tokio::test]
async fn no_error_holds_the_token() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let quoting = format!(r#"{{"ok":false,"error_code":400,"description":"no /bot{TOKEN}/x"}}"#);
    let html = format!("<html>502 for /bot{TOKEN}/getMe</html>");
    let server = StandIn::answering([
        (0, ""),
        (200, "{\"ok\":tr"),
        (200, "{\"ok\":true}"),
        (502, &html),
        (302, &html),
        (400, &quoting),
    ]);
    let mut errors = vec![account(&format!("http://{closed}"), TOKEN).unwrap().api.me().await];
    for _ in 0..6 {
        errors.push(server.api().me().await);
    }
    let kinds: Vec<_> = errors
        .iter()
        .map(|error| match error.as_ref().unwrap_err() {
            CallError::Unreachable(_) => "unreachable".to_owned(),
            CallError::Lost(_) => "lost".to_owned(),
            CallError::Garbled { status, .. } => format!("garbled {status}"),
            CallError::Refused(refusal) => format!("refused {}", refusal.code),
        })
        .collect();
    let expected = [
        "unreachable",
        "lost",
        "garbled 200",
        "garbled 200",
        "garbled 502",
        "garbled 302",
        "refused 400",
    ];
    assert_eq!(kinds, expected);
    for error in errors {
        let error = error.unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains(TOKEN) && !shown.contains("secret"), "{shown}");
    }
}

#[tokio::test]
async fn a_wait_and_a_move_are_read_from_the_parameters() {
    let server = StandIn::answering([
        (429, r#"{"ok":false,"error_code":429,"description":"x","parameters":{"retry_after":9}}"#),
        (429, r#"{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 31"}"#),
        (
            400,
            r#"{"ok":false,"error_code":400,"description":"x","parameters":{"migrate_to_chat_id":-7}}"#,
        ),
    ]);
    let mut found = Vec::new();
    for _ in 0..3 {
        match server.api().call::<Value>("sendMessage", &json!({}), ANSWER).await {
            Err(CallError::Refused(refusal)) => found.push((refusal.retry_after, refusal.moved_to)),
            other => panic!("{other:?}"),
        }
    }
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    assert_eq!(found, [(seconds(9), None), (seconds(31), None), (None, Some(-7))]);
}

#[tokio::test]
async fn a_check_tells_the_bot_or_how_to_mend_it() {
    let webhook = r#"{"ok":true,"result":{"url":"https://e.org/hook"}}"#;
    let server = StandIn::answering([
        (200, ME),
        (200, NO_WEBHOOK),
        (200, ME),
        (200, webhook),
        (401, r#"{"ok":false,"error_code":401,"description":"Unauthorized"}"#),
        (502, "Bad Gateway"),
    ]);
    let account = server.account();
    let bot = account.check().await.unwrap();
    assert_eq!((bot.id, bot.username.as_str()), (7, "AtlasBot"));
    assert!(!bot.can_read_all_group_messages);
    assert_eq!(account.check().await, Err(CheckError::Webhook));
    assert_eq!(account.check().await, Err(CheckError::TokenRefused));
    assert!(matches!(account.check().await, Err(CheckError::Unreachable(_))));
}
