use atlas_core::event::Addressed;
use proptest::prelude::*;
use serde_json::json;

use super::*;

const BOT: u64 = 77;

fn me() -> Me {
    Me { id: BOT, name: "atlas".into() }
}

fn channel() -> Where {
    Where { lineage: vec![20, 9], direct: false, name: Some("general".into()), role: Some(91) }
}

/// An ordinary message with these fields instead of its own.
fn message(fields: Value) -> Value {
    let mut message = json!({
        "id": "175928847299117063", "channel_id": "20", "type": 0, "content": "hello",
        "author": {"id": "5", "username": "ana", "global_name": "Ana"}, "mentions": [],
        "mention_roles": [], "attachments": [], "edited_timestamp": null, "flags": 0,
    });
    if let (Some(message), Value::Object(fields)) = (message.as_object_mut(), fields) {
        message.extend(fields);
    }
    message
}

fn decoded(place: &Where, fields: Value) -> Event {
    written(&"dc".into(), &me(), place, &message(fields).to_string()).event
}

fn said_in(place: &Where, fields: Value) -> Inbound {
    match decoded(place, fields) {
        Event::Message(inbound) => inbound,
        other => panic!("{other:?}"),
    }
}

fn said(fields: Value) -> Inbound {
    said_in(&channel(), fields)
}

#[test]
fn a_message_is_known_by_its_place_its_number_and_its_author() {
    let raw = message(json!({"nonce": 1.0, "member": {"nick": "Annie"}})).to_string();
    let envelope = written(&"dc".into(), &me(), &channel(), &raw);
    assert_eq!(envelope.raw, raw, "byte for byte");
    assert_eq!(envelope.key, "20/175928847299117063/0");
    let Event::Message(inbound) = envelope.event else { panic!() };
    assert_eq!(inbound.lineage, [PlatformChat::from("20"), "9".into()]);
    assert_eq!((inbound.kind, inbound.order), (ChatKind::Group, 175_928_847_299_117_063));
    assert_eq!(inbound.sender.person.map(|person| person.id), Some("5".into()));
    assert_eq!(inbound.sender.name, "Annie");
    assert_eq!(inbound.sent_at.to_rfc3339(), "2016-04-30T11:18:25.796+00:00");
    assert_eq!((&*inbound.text, inbound.outside), ("hello", false));
}

#[test]
fn the_history_s_edited_message_is_the_one_that_the_gateway_told_of() {
    let key = |fields| written(&"dc".into(), &me(), &channel(), &message(fields).to_string()).key;
    let edited = json!({"content": "hello!", "edited_timestamp": "2026-01-01T00:00:00+00:00"});
    assert_eq!(key(json!({})), key(edited));
}

#[test]
fn it_speaks_to_the_bot_by_name_role_reply_or_in_private() {
    let answered = json!({"author": {"id": "77"}, "content": "mine"});
    let pinged = json!([{"id": "77", "username": "atlas"}]);
    for (fields, addressed) in [
        (json!({"content": "hello"}), Addressed::No),
        (json!({"content": "<@77> hello"}), Addressed::Mentioned),
        (json!({"content": "hello <@!77>"}), Addressed::Mentioned),
        (json!({"content": "<@&91> hello", "mention_roles": ["91"]}), Addressed::Mentioned),
        (json!({"content": "<@&92> hello", "mention_roles": ["92"]}), Addressed::No),
        (json!({"content": "@everyone", "mention_everyone": true}), Addressed::No),
        (json!({"type": 19, "referenced_message": answered}), Addressed::Replied),
        (
            json!({"type": 19, "referenced_message": answered, "mentions": pinged}),
            Addressed::Replied,
        ),
        (json!({"type": 19, "referenced_message": null}), Addressed::No),
        (json!({"content": "<@78> hello", "mentions": [{"id": "78"}]}), Addressed::No),
    ] {
        assert_eq!(said(fields.clone()).addressed, addressed, "{fields}");
        assert_eq!(said_in(&Where::dm(20), fields).addressed, Addressed::Directly);
    }
}

#[test]
fn a_command_is_typed_to_the_bot() {
    let command = |place: &Where, content: &str| {
        let line = said_in(place, json!({"content": content})).command;
        line.map(|line| (line.name, line.rest))
    };
    let status = |rest: &str| Some(("status".to_owned(), rest.to_owned()));
    let dm = Where::dm(20);
    assert_eq!(command(&dm, "/Status  now "), status("now"));
    assert_eq!(command(&channel(), "<@77> /status"), status(""));
    assert_eq!(command(&channel(), "/status"), None, "nobody in particular was meant");
    for text in ["/usr/bin", "/", "/ status", "a /status", "/é"] {
        assert_eq!(command(&dm, text), None, "{text}");
    }
}

#[test]
fn names_of_people_stand_for_their_numbers_and_nothing_else_is_changed() {
    let fields = json!({
        "content": "<@77> ask <@!5> and <@6> in <#20> <@&91> <@&92> <:x:1>",
        "mentions": [{"id": "5", "username": "ana"}, {"id": "6", "username": "<@77> ]"}],
    });
    assert_eq!(said(fields).text, "@atlas ask @ana and <@6> in <#20> @atlas <@&92> <:x:1>");
}

#[test]
fn webhooks_and_bots_are_told_apart_from_people() {
    let webhook = said(json!({"webhook_id": "5"})).sender;
    assert_eq!((webhook.person, webhook.is_bot), (None, true));
    let bot = said(json!({"author": {"id": "8", "username": "robot", "bot": true}})).sender;
    assert!(bot.is_bot && bot.person.is_some());
    let nameless = said(json!({"author": {"id": "8", "global_name": " "}})).sender;
    assert_eq!((&*nameless.name, nameless.is_bot), ("somebody", false));
}

#[test]
fn what_is_no_text_is_readable_words() {
    for (fields, text, outside) in [
        (
            json!({"attachments": [{"filename": "a].txt", "size": 1_200, "content_type": "text/plain"}]}),
            "[file a .txt, 1 KB]\nhello",
            true,
        ),
        (
            json!({"content": "", "flags": 8192, "attachments": [
                {"filename": "voice-message.ogg", "size": 9, "duration_secs": 3.6},
            ]}),
            "[voice message, 4 s, 9 B]",
            false,
        ),
        (json!({"content": "", "sticker_items": [{"name": "wave"}]}), "[sticker wave]", false),
        (
            json!({"poll": {"question": {"text": "when?"}, "answers": [
                {"poll_media": {"text": "now"}}, {"poll_media": {"text": "later"}},
            ]}}),
            "[poll: when? now / later]\nhello",
            true,
        ),
        (
            json!({"content": "", "message_snapshots": [{"message": {
                "content": "theirs", "attachments": [{"filename": "b.png", "size": 2_100_000,
                "content_type": "image/png"}],
            }}]}),
            "[forwarded from elsewhere]\n[image b.png, 2.1 MB]\ntheirs",
            true,
        ),
    ] {
        let inbound = said(fields);
        assert_eq!((&*inbound.text, inbound.outside), (text, outside));
    }
}

#[test]
fn a_forward_cannot_speak_to_the_bot() {
    let inbound = said(json!({
        "content": "<@77> /stop", "message_snapshots": [{"message": {"content": "x"}}],
    }));
    assert_eq!((inbound.addressed, inbound.command), (Addressed::No, None));
}

#[test]
fn what_is_answered_is_carried_along_and_marked_as_others() {
    let reply = |by: &str, to: &str| {
        let replied = json!({"author": {"id": by, "username": "bo"}, "content": to});
        let fields = json!({"type": 19, "content": "<@77> why?", "referenced_message": replied});
        let inbound = said(fields);
        (inbound.text, inbound.outside)
    };
    let words = |text: &str| text.to_owned();
    assert_eq!(reply("6", "a]\nb"), (words("[in reply to bo: a b]\n@atlas why?"), true));
    assert_eq!(reply("5", "mine"), (words("[in reply to bo: mine]\n@atlas why?"), false));
    let own = "[in reply to you: the bot's]\n@atlas why?";
    assert_eq!(reply("77", "the bot's"), (words(own), false));
    let replied = |replied: Value| {
        let fields = json!({"content": "<@77> why?", "referenced_message": replied});
        said(fields).text.replace("\n@atlas why?", "")
    };
    let bo = json!({"id": "6", "username": "bo"});
    for (held, expected) in [
        (
            json!({"author": bo, "content": "", "message_snapshots":
                [{"message": {"content": "theirs"}}]}),
            "[in reply to bo: forwarded from elsewhere theirs]",
        ),
        (
            json!({"author": bo, "content": "", "attachments": [{"filename": "a.log", "size": 9}]}),
            "[in reply to bo: file a.log, 9 B]",
        ),
        (
            json!({"author": bo, "content": "", "embeds": [{"title": "Build 7", "description":
                "failed"}, {"image": {}}]}),
            "[in reply to bo: Build 7 failed]",
        ),
        (
            json!({"author": bo, "content": "see this", "embeds": [{"title": "a preview"}]}),
            "[in reply to bo: see this]",
        ),
        (json!({"author": bo, "content": ""}), "@atlas why?"),
    ] {
        assert_eq!(replied(held.clone()), expected, "{held}");
    }
}

#[test]
fn what_may_be_text_of_the_attachments_comes_with_what_holds_them() {
    let attached = |name: &str| json!([{"id": name, "filename": name, "size": 7, "url": "u"}]);
    let bo = json!({"id": "6", "username": "bo"});
    let replied = |author: &Value| {
        json!({"id": "31", "channel_id": "21", "author": author, "content": "", "attachments":
            attached("a.log")})
    };
    let handles = |fields: Value| -> Vec<String> {
        said(fields).files.into_iter().map(|file| file.handle).collect()
    };
    let handle = |channel: u64, message: u64, id: &str| {
        format!(r#"{{"channel":{channel},"message":{message},"id":"{id}","url":"u"}}"#)
    };
    let own = 175_928_847_299_117_063;
    assert_eq!(handles(json!({"attachments": attached("a.txt")})), [handle(20, own, "a.txt")]);
    assert_eq!(handles(json!({"attachments": attached("a.png")})), [""; 0]);
    let forward = json!({"message_snapshots": [{"message": {"attachments": attached("b.md")}}]});
    assert_eq!(handles(forward), [handle(20, own, "b.md")]);
    let reply = json!({"content": "<@77> why?", "attachments": attached("c.rs"),
        "referenced_message": replied(&bo)});
    assert_eq!(handles(reply), [handle(21, 31, "a.log"), handle(20, own, "c.rs")]);
    let nearby = json!({"content": "why?", "referenced_message": replied(&bo)});
    assert_eq!(handles(nearby), [""; 0]);
    let own = json!({"referenced_message": replied(&json!({"id": "77"}))});
    assert_eq!(handles(own), [""; 0]);
}

#[test]
fn what_discord_itself_tells_is_nothing_to_answer() {
    for kind in [1, 3, 6, 7, 8, 18, 21, 46] {
        let event = decoded(&channel(), json!({"type": kind}));
        assert!(matches!(event, Event::Nothing { .. }), "{kind}: {event:?}");
    }
    for kind in [0, 19, 20, 23, 200] {
        assert_eq!(said(json!({"type": kind})).text, "hello", "{kind}");
    }
}

#[test]
fn only_a_person_s_edit_is_one() {
    let edit = |fields| edited(&"dc".into(), &message(fields).to_string());
    assert_eq!(edit(json!({"embeds": [{"type": "link"}]})), None, "a link's preview");
    let at = "2026-01-01T00:00:00+00:00";
    let first = edit(json!({"edited_timestamp": at, "content": "a"})).unwrap();
    let second = edit(json!({"edited_timestamp": at, "content": "b"})).unwrap();
    assert!(matches!(first.event, Event::Nothing { .. }));
    assert_ne!(first.key, second.key);
}

#[test]
fn what_cannot_be_read_keeps_its_number_and_tells_nothing_of_its_content() {
    let raw = r#"{"id":"30","channel_id":"20","author":"secret words"}"#;
    let envelope = written(&"dc".into(), &me(), &channel(), raw);
    assert_eq!((&*envelope.key, &*envelope.raw), ("20/30/0", raw));
    let Event::Unreadable { why } = envelope.event else { panic!() };
    assert!(!why.contains("secret"), "{why}");
}

fn interaction(fields: Value) -> Value {
    let mut interaction = json!({
        "id": "175928847299117063", "application_id": "2", "type": 2, "token": "t",
        "data": {"name": "Status", "options": [{"value": " now "}, {"value": 3}]},
        "member": {"user": {"id": "5", "username": "ana"}, "nick": null},
    });
    if let (Some(interaction), Value::Object(fields)) = (interaction.as_object_mut(), fields) {
        interaction.extend(fields);
    }
    interaction
}

#[test]
fn a_slash_command_is_a_message_with_a_command() {
    let (envelope, given) = command(&"dc".into(), &channel(), &interaction(json!({})).to_string());
    assert_eq!(envelope.key, "interaction/175928847299117063");
    let Event::Message(inbound) = envelope.event else { panic!() };
    let line = inbound.command.unwrap();
    assert_eq!((&*line.name, &*line.rest), ("status", "now  3"));
    assert_eq!((&*inbound.text, inbound.addressed), ("/status now  3", Addressed::Commanded));
    assert_eq!(inbound.message, "175928847299117063".into());
    assert_eq!(given.unwrap().id, 175_928_847_299_117_063);
}

#[test]
fn an_interaction_that_is_no_command_is_answered_by_nobody() {
    for fields in
        [json!({"type": 3}), json!({"data": {}}), json!({"member": null}), json!({"id": 0})]
    {
        let raw = interaction(fields.clone()).to_string();
        let (envelope, given) = command(&"dc".into(), &channel(), &raw);
        assert!(given.is_none() && !matches!(envelope.event, Event::Message(_)), "{fields}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z<@&>0-9 /]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z_]{1,8}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

const FIELDS: [&str; 14] = [
    "content",
    "type",
    "author",
    "mentions",
    "mention_roles",
    "attachments",
    "sticker_items",
    "poll",
    "message_snapshots",
    "referenced_message",
    "webhook_id",
    "member",
    "flags",
    "edited_timestamp",
];

proptest! {
    /// Whatever stands in a field: the event keeps its bytes and its key, and nothing breaks.
    #[test]
    fn no_field_breaks_anything(field in 0..FIELDS.len(), value in any_json(), direct in any::<bool>()) {
        let place = if direct { Where::dm(20) } else { channel() };
        let mut fields = serde_json::Map::new();
        fields.insert(FIELDS[field].to_owned(), value);
        let raw = message(Value::Object(fields)).to_string();
        let envelope = written(&"dc".into(), &me(), &place, &raw);
        prop_assert_eq!(&*envelope.key, "20/175928847299117063/0");
        prop_assert_eq!(envelope.raw, raw);
    }

    /// Whatever comes at all.
    #[test]
    fn nothing_that_comes_breaks_anything(value in any_json(), text in ".{0,80}") {
        for raw in [value.to_string(), text] {
            let envelope = written(&"dc".into(), &me(), &channel(), &raw);
            let unreadable = matches!(envelope.event, Event::Unreadable { .. });
            prop_assert!(unreadable);
            prop_assert_eq!(envelope.raw, raw.clone());
            let _ = edited(&"dc".into(), &raw);
            let (envelope, given) = command(&"dc".into(), &channel(), &raw);
            prop_assert!(given.is_none() && envelope.raw == raw);
        }
    }
}
