use super::super::stand_in::StandIn;
use super::*;

const NOTHING: &str = r#"{"ok":true,"result":[]}"#;

fn poller<'a>(account: &'a AccountId, api: &'a Api) -> Poller<'a> {
    let me = BotAccount {
        id: 7,
        username: "AtlasBot".to_owned(),
        can_read_all_group_messages: true,
        can_join_groups: true,
    };
    Poller::new(account, api, me, Duration::from_secs(6 * 3600))
}

fn refused(code: u16) -> CallError {
    CallError::Refused(super::super::api::Refusal { code, ..Default::default() })
}

#[tokio::test]
async fn a_poll_acknowledges_only_what_was_stored() {
    let batch = r#"{"ok":true,"result":[{"update_id":41,"x":1},{"no":"number"},{"update_id":40}]}"#;
    let server = StandIn::answering([(200, batch), (200, NOTHING), (200, NOTHING)]);
    let (account, api) = (AccountId("tg".into()), server.api());
    let mut poller = poller(&account, &api);
    let batch = poller.poll().await.unwrap();
    poller.catching_up = false;
    assert_eq!(batch[0].get(), r#"{"update_id":41,"x":1}"#, "the payload is kept byte for byte");
    poller.poll().await.unwrap();
    poller.acknowledge_up_to(&batch).await;
    poller.farewell().await;
    let asked: Vec<_> = server.asked().into_iter().map(|(_, asked)| asked).collect();
    let first = serde_json::json!({"timeout": 0, "allowed_updates": ["message"]});
    assert_eq!(asked[0], first, "what waited comes first");
    assert_eq!(asked[1], serde_json::json!({"timeout": 50}), "nothing was stored yet");
    assert_eq!(asked[2], serde_json::json!({"offset": 42, "timeout": 0}));
}

#[tokio::test]
async fn after_a_failed_poll_telegram_is_asked_for_all_that_it_still_has() {
    let server = StandIn::answering([(502, "Bad Gateway"), (200, NOTHING)]);
    let (account, api) = (AccountId("tg".into()), server.api());
    let mut poller = poller(&account, &api);
    poller.offset = Some(42);
    assert!(poller.poll().await.is_err());
    poller.poll().await.unwrap();
    let offsets: Vec<_> =
        server.asked().into_iter().map(|(_, asked)| asked["offset"].as_i64()).collect();
    assert_eq!(offsets, [Some(42), None]);
}

#[test]
fn after_six_quiet_days_the_offset_is_forgotten() {
    let hours = |hours: u64| Duration::from_secs(hours * 3600);
    assert_eq!(still_good(Some(42), hours(6 * 24 - 1)), Some(42));
    assert_eq!(still_good(Some(42), hours(6 * 24)), None);
    assert_eq!(still_good(None, hours(1)), None);
}

#[test]
fn waits_double_up_to_a_minute() {
    let bounds: Vec<_> = [0, 1, 2, 5, 6, 40].map(|n| PACE.bound(n).as_secs()).into();
    assert_eq!(bounds, [1, 2, 4, 32, 60, 60]);
    assert_eq!(PACE.spread, (0.5, 1.0));
}

#[test]
fn a_refused_token_ends_the_account_and_all_else_waits() {
    let account = AccountId("tg".into());
    let mut backoff = Backoff::new(PACE);
    for code in [401, 404] {
        assert_eq!(trouble(&account, &mut backoff, &refused(code)), None);
    }
    for error in [refused(409), refused(502), CallError::Lost("cut".into())] {
        let wait = trouble(&account, &mut backoff, &error).unwrap();
        assert!(wait >= Duration::from_millis(500) && wait <= Duration::from_secs(4), "{wait:?}");
    }
    let wait = Some(Duration::from_secs(300));
    let slowly = super::super::api::Refusal { code: 429, retry_after: wait, ..Default::default() };
    assert_eq!(trouble(&account, &mut backoff, &CallError::Refused(slowly)), wait);
}
