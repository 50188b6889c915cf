use std::time::Duration;

use serde_json::{Value, json};

use super::{Channel, Discord, Draft, Guild, SendFault, TOKEN, User};
use crate::bell::Bell;
use crate::wire::{request, request_as};

fn with_channel() -> (Discord, u64) {
    let discord = Discord::start(&Bell::new());
    let guild = Guild::new(700, "Team");
    let channel = Channel::text(710, &guild, "general");
    discord.join(&guild);
    discord.open(&channel);
    (discord, channel.id)
}

fn call(discord: &Discord, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let path = format!("/api/v10/{path}");
    let bot = format!("Bot {TOKEN}");
    let (status, body) = request_as(&bot, discord.address, method, &path, body).unwrap();
    (status, serde_json::from_str(&body).unwrap_or_default())
}

fn send(discord: &Discord, channel: u64, body: &Value) -> (u16, u64) {
    let (status, answer) = call(discord, "POST", &format!("channels/{channel}/messages"), body);
    (status, answer["code"].as_u64().unwrap_or_default())
}

#[test]
fn it_refuses_what_discord_refuses_with_its_codes() {
    let (discord, channel) = with_channel();
    let words = |count: usize| json!({"content": "é".repeat(count)});
    assert_eq!(send(&discord, channel, &words(2_000)).0, 200);
    assert_eq!(send(&discord, channel, &words(2_001)), (400, 50_035));
    assert_eq!(send(&discord, channel, &json!({"content": " \n"})), (400, 50_006));
    assert_eq!(send(&discord, 1, &words(1)), (404, 10_003));
    discord.mute(channel);
    assert_eq!(send(&discord, channel, &words(1)), (403, 50_013));
    discord.hide(channel);
    assert_eq!(send(&discord, channel, &words(1)), (403, 50_001));
    let user = User::new(5, "ana");
    let dm = discord.dm_of(&user);
    discord.block(user.id);
    assert_eq!(send(&discord, dm, &words(1)), (403, 50_007));
    let unknown = request(discord.address, "GET", "/api/v10/users/@me", &Value::Null).unwrap();
    assert_eq!(unknown.0, 401);
    assert_eq!(discord.problems(), Vec::<String>::new());
}

#[test]
fn a_nonce_is_enforced_for_three_minutes_of_its_clock() {
    let (discord, channel) = with_channel();
    let body = json!({"content": "once", "nonce": "n", "enforce_nonce": true});
    let sent = |discord: &Discord| {
        let path = format!("channels/{channel}/messages");
        call(discord, "POST", &path, &body).1["id"].as_str().unwrap().to_owned()
    };
    let first = sent(&discord);
    assert_eq!(sent(&discord), first);
    discord.turn_clock(Duration::from_secs(179));
    assert_eq!(sent(&discord), first);
    discord.turn_clock(Duration::from_secs(2));
    assert_ne!(sent(&discord), first);
    assert_eq!(discord.texts(channel), ["once", "once"]);
}

#[test]
fn history_is_given_in_pages_the_newest_first() {
    let (discord, channel) = with_channel();
    let ana = User::new(5, "ana");
    let write = |text: &str| discord.write(Draft::text(channel, &ana, text));
    let numbers: Vec<u64> = ["a", "b", "c", "d"].map(write).into();
    let page = |query: &str| -> String {
        let path = format!("channels/{channel}/messages?{query}");
        let page = call(&discord, "GET", &path, &Value::Null).1;
        let page = page.as_array().unwrap().iter();
        page.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(page(&format!("after={}&limit=2", numbers[0])), "cb");
    assert_eq!(page(&format!("before={}&limit=2", numbers[3])), "cb");
    assert_eq!(page("limit=3"), "dcb");
    let message = discord.write(Draft::text(channel, &ana, "old").ago(Duration::from_secs(60)));
    assert!(message < numbers[0]);
    assert_eq!(page(&format!("before={}", numbers[1])), "aold");
}

#[test]
fn a_lost_answer_is_a_message_and_no_word_of_it() {
    let (discord, channel) = with_channel();
    discord.plan_sends([SendFault::LostAnswer, SendFault::LostRequest, SendFault::TooMany(0.5)]);
    let path = format!("/api/v10/channels/{channel}/messages");
    let body = json!({"content": "x"});
    let bot = format!("Bot {TOKEN}");
    let send = || request_as(&bot, discord.address, "POST", &path, &body);
    assert_eq!((send(), discord.sent().len()), (None, 1));
    assert_eq!((send(), discord.sent().len()), (None, 1));
    let (status, body) = send().unwrap();
    assert_eq!(status, 429);
    assert!(body.contains("\"retry_after\":0.5"), "{body}");
    assert_eq!(discord.tries(), 3);
}

#[test]
fn a_command_can_be_acknowledged_for_three_seconds_and_answered_for_a_quarter_of_an_hour() {
    let (discord, channel) = with_channel();
    let ana = User::new(5, "ana");
    let deferred = json!({"type": 5});
    let late = discord.command(channel, &ana, "status", "");
    discord.turn_clock(Duration::from_secs(4));
    let callback = |id: u64| format!("interactions/{id}/interaction-token-{id}/callback");
    assert_eq!(call(&discord, "POST", &callback(late), &deferred).0, 404);

    let given = discord.command(channel, &ana, "status", "");
    let reply = format!("webhooks/2/interaction-token-{given}/messages/@original");
    let body = json!({"content": "all is well"});
    assert_eq!(call(&discord, "PATCH", &reply, &body).0, 404, "not acknowledged yet");
    assert_eq!(call(&discord, "POST", &callback(given), &deferred).0, 204);
    let again = call(&discord, "POST", &callback(given), &deferred);
    assert_eq!((again.0, again.1["code"].as_u64()), (400, Some(40_060)));
    assert_eq!(call(&discord, "PATCH", &reply, &body).0, 200);
    let sent = discord.sent();
    assert_eq!((sent[0].answers, &*sent[0].text), (Some(given), "all is well"));
    discord.turn_clock(Duration::from_secs(15 * 60));
    assert_eq!(call(&discord, "PATCH", &reply, &body).0, 401);
}

#[test]
fn an_unknown_route_is_a_problem_and_shows_no_token() {
    let discord = Discord::start(&Bell::new());
    assert_eq!(call(&discord, "GET", "nonsense", &Value::Null).0, 404);
    assert_eq!(call(&discord, "DELETE", "interactions/5/secret/nonsense", &Value::Null).0, 404);
    let problems = discord.problems();
    assert_eq!(problems.len(), 2);
    assert!(!problems.iter().chain(&discord.calls()).any(|text| text.contains("secret")));
}
