use proptest::prelude::*;
use serde_json::json;

use super::*;

fn me() -> BotAccount {
    BotAccount {
        id: 777,
        username: "AtlasBot".to_owned(),
        can_read_all_group_messages: true,
        can_join_groups: true,
    }
}

/// A message in a group, with `fields` laid over it.
fn update(fields: Value) -> String {
    let mut message = json!({
        "message_id": 12, "date": 1_700_000_000,
        "chat": {"id": -1005, "type": "supergroup", "title": "Garden", "is_forum": true},
        "from": {"id": 42, "is_bot": false, "first_name": "Ada", "last_name": "L."},
    });
    for (key, value) in fields.as_object().unwrap() {
        message[key] = value.clone();
    }
    json!({"update_id": 900, "message": message}).to_string()
}

fn decoded(raw: &str) -> Envelope {
    decode(&AccountId("tg".to_owned()), &me(), raw)
}

fn inbound(fields: Value) -> Inbound {
    match decoded(&update(fields)).event {
        Event::Message(inbound) => inbound,
        other => panic!("no message: {other:?}"),
    }
}

fn private(text: &str) -> Value {
    json!({"chat": {"id": 42, "type": "private", "first_name": "Ada"}, "text": text})
}

#[test]
fn a_private_message_is_read_whole() {
    let raw = update(private("hello"));
    let envelope = decoded(&raw);
    assert_eq!(envelope.raw, raw);
    assert_eq!(update_id(&raw), Some(900));
    let Event::Message(inbound) = envelope.event else { panic!("no message") };
    let person = Person { platform: "telegram".into(), id: "42".into() };
    let expected = Inbound {
        lineage: vec!["42".into()],
        kind: ChatKind::Direct,
        chat_name: Some("Ada".to_owned()),
        message: "12".into(),
        order: 12,
        sender: Sender { person: Some(person), name: "Ada L.".to_owned(), is_bot: false },
        text: "hello".to_owned(),
        outside: false,
        files: Vec::new(),
        addressed: Addressed::Directly,
        command: None,
        sent_at: DateTime::from_timestamp(1_700_000_000, 0).unwrap(),
    };
    assert_eq!(inbound, expected);
}

#[test]
fn case_19_a_topic_is_the_place_and_a_chain_of_replies_is_none() {
    let topic = inbound(json!({"text": "x", "message_thread_id": 55, "is_topic_message": true}));
    assert_eq!(topic.lineage, ["-1005:55".into(), "-1005".into()]);
    let chain = inbound(json!({"text": "x", "message_thread_id": 55}));
    assert_eq!(chain.lineage, ["-1005".into()]);
    assert_eq!(chain.kind, ChatKind::Group);
    assert_eq!(chain.chat_name.as_deref(), Some("Garden"));
}

#[test]
fn a_message_has_one_key_and_an_edit_another() {
    let key = |fields| decoded(&update(fields)).key;
    let first = key(json!({"text": "a"}));
    assert_eq!(
        first,
        key(json!({"text": "a", "from": {"id": 42, "is_bot": false, "first_name": "B"}}))
    );
    assert_ne!(first, key(json!({"text": "a", "edit_date": 1_700_000_009})));
    assert_ne!(first, key(json!({"text": "b"})));
    assert_ne!(first, key(json!({"text": "a", "message_id": 13})));
    assert!(first.starts_with("-1005/12/0/"), "{first}");
}

#[test]
fn a_group_message_speaks_to_the_bot_or_not() {
    let bot = json!({"id": 777, "is_bot": true, "first_name": "Atlas"});
    let other = json!({"id": 778, "is_bot": true, "first_name": "Other"});
    let mention = |offset: usize, length: usize| json!([{"type": "mention", "offset": offset, "length": length}]);
    let replied = |from: &Value| json!({"message_id": 3, "date": 1, "from": from});
    let topic_line = json!({"message_id": 3, "from": bot, "forum_topic_created": {"name": "t"}});
    for (fields, expected) in [
        (json!({"text": "hello"}), Addressed::No),
        (json!({"text": "🎉 @atlasbot hi", "entities": mention(3, 9)}), Addressed::Mentioned),
        (json!({"text": "@otherbot hi", "entities": mention(0, 9)}), Addressed::No),
        (json!({"text": "@atlasbot in code"}), Addressed::No),
        (json!({"text": "🎉@atlasbot", "entities": mention(1, 9)}), Addressed::No),
        (json!({"text": "x", "entities": mention(usize::MAX, 9)}), Addressed::No),
        (
            json!({"text": "you", "entities":
                [{"type": "text_mention", "offset": 0, "length": 3, "user": bot}]}),
            Addressed::Mentioned,
        ),
        (
            json!({"photo": [], "caption": "@AtlasBot", "caption_entities": mention(0, 9)}),
            Addressed::Mentioned,
        ),
        (json!({"text": "yes", "reply_to_message": replied(&bot)}), Addressed::Replied),
        (json!({"text": "yes", "reply_to_message": replied(&other)}), Addressed::No),
        (json!({"text": "yes", "reply_to_message": topic_line}), Addressed::No),
        (json!({"text": "/status"}), Addressed::Commanded),
        (json!({"text": "/status@ATLASBOT"}), Addressed::Commanded),
        (json!({"text": "/status@other", "reply_to_message": replied(&bot)}), Addressed::No),
        (
            json!({"text": "@atlasbot", "entities": mention(0, 9),
                "forward_origin": {"type": "hidden_user", "sender_user_name": "X", "date": 1}}),
            Addressed::No,
        ),
    ] {
        assert_eq!(inbound(fields.clone()).addressed, expected, "{fields}");
    }
}

#[test]
fn a_command_is_read_where_it_is_for_this_bot() {
    for (text, expected) in [
        ("/status", Some(("status", ""))),
        ("/Allow@AtlasBot  AB12 \n", Some(("allow", "AB12"))),
        ("/help\nplease", Some(("help", "please"))),
        ("/status@other", None),
        ("/usr/bin", None),
        ("/", None),
        ("/ status", None),
        ("say /status", None),
        ("/größe", None),
    ] {
        let command = inbound(private(text)).command;
        let found = command.as_ref().map(|line| (line.name.as_str(), line.rest.as_str()));
        assert_eq!(found, expected, "{text}");
        assert_eq!(inbound(private(text)).addressed, Addressed::Directly);
    }
}

#[test]
fn a_chat_that_speaks_as_itself_is_no_person() {
    let anonymous = inbound(json!({
        "text": "hi", "from": {"id": 1_087_968_824, "is_bot": true, "first_name": "Group",
            "username": "GroupAnonymousBot"},
        "sender_chat": {"id": -1005, "type": "supergroup", "title": "Garden"},
    }));
    let expected = Sender { person: None, name: "Garden".to_owned(), is_bot: false };
    assert_eq!(anonymous.sender, expected);
    let bot = inbound(json!({"text": "hi", "from": {"id": 9, "is_bot": true, "first_name": "B"}}));
    assert!(bot.sender.is_bot);
}

#[test]
fn what_is_no_text_stands_in_readable_words() {
    let file = |more: Value| {
        let mut file = json!({"file_id": "f", "file_unique_id": "u", "file_size": 2_150_000});
        file.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        file
    };
    let place = json!({"latitude": 52.5, "longitude": 13.4});
    for (fields, expected) in [
        (
            json!({"photo": [{"file_id": "a", "file_size": 900}, file(json!({"file_size": 120_300}))],
                "caption": "look"}),
            "[photo, 120 KB]\nlook",
        ),
        (
            json!({"document": file(json!({"file_name": "report.pdf"}))}),
            "[document report.pdf, 2.1 MB]",
        ),
        (json!({"document": {"file_name": "a]\n[b"}}), "[document a b]"),
        (json!({"voice": file(json!({"duration": 7}))}), "[voice message, 7 s, 2.1 MB]"),
        (json!({"audio": {"duration": 7, "title": "Song"}}), "[audio Song, 7 s]"),
        (json!({"animation": {"duration": 2}, "document": {"file_name": "x"}}), "[animation, 2 s]"),
        (json!({"sticker": {"emoji": "🦀", "type": "of tomorrow"}}), "[sticker 🦀]"),
        (json!({"dice": {"emoji": "🎲", "value": 4}}), "[dice 🎲, shows 4]"),
        (json!({"location": place}), "[place, latitude 52.5, longitude 13.4]"),
        (
            json!({"venue": {"location": place, "title": "Zoo", "address": "Road 1"},
                "location": place}),
            "[place Zoo, Road 1, latitude 52.5, longitude 13.4]",
        ),
        (
            json!({"contact": {"phone_number": "+49 1", "first_name": "Bo", "last_name": "X"}}),
            "[contact Bo X, +49 1]",
        ),
        (
            json!({"poll": {"id": "1", "question": "Tea?", "is_closed": false, "is_anonymous": true,
                "options": [{"text": "yes", "voter_count": 0}, {"text": "no", "voter_count": 0}],
                "total_voter_count": 0, "type": "regular", "allows_multiple_answers": false}}),
            "[poll: Tea? yes / no]",
        ),
        (json!({"poll": {"of": "tomorrow"}}), "[poll]"),
        (
            json!({"text": "news", "forward_origin":
                {"type": "hidden_user", "sender_user_name": "Eve]", "date": 1}}),
            "[forwarded from Eve]\nnews",
        ),
        (
            json!({"text": "news", "forward_origin": {"type": "new"}}),
            "[forwarded from elsewhere]\nnews",
        ),
    ] {
        assert_eq!(inbound(fields.clone()).text, expected, "{fields}");
    }
}

#[test]
fn words_that_the_sender_did_not_write_are_marked_as_such() {
    let forward = json!({"type": "hidden_user", "sender_user_name": "Eve", "date": 1});
    let other = json!({"id": 43, "is_bot": false, "first_name": "Bo"});
    let same = json!({"id": 42, "is_bot": false, "first_name": "Ada"});
    let replied = |from: &Value| json!({"message_id": 3, "text": "pay", "from": from});
    for (fields, expected) in [
        (json!({"text": "mine"}), false),
        (json!({"photo": [{"file_size": 900}], "caption": "mine"}), false),
        (json!({"voice": {"duration": 7}}), false),
        (json!({"sticker": {"emoji": "🦀"}}), false),
        (json!({"text": "mine", "reply_to_message": replied(&same)}), false),
        (json!({"text": "theirs", "forward_origin": forward}), true),
        (json!({"voice": {"duration": 7}, "forward_origin": {"type": "new"}}), true),
        (json!({"document": {"file_name": "obey.pdf"}, "caption": "mine"}), true),
        (json!({"contact": {"phone_number": "1", "first_name": "Obey"}}), true),
        (json!({"text": "mine", "reply_to_message": replied(&other)}), true),
        (
            json!({"text": "mine", "reply_to_message":
            {"message_id": 3, "text": "x", "from": same, "forward_origin": forward}}),
            true,
        ),
        (json!({"text": "mine", "external_reply": {}, "quote": {"text": "x"}}), true),
    ] {
        let mut fields = fields;
        let chat = private("x")["chat"].clone();
        fields.as_object_mut().unwrap().insert("chat".to_owned(), chat);
        assert_eq!(inbound(fields.clone()).outside, expected, "{fields}");
    }
}

#[test]
fn what_a_message_to_the_bot_answers_comes_with_it() {
    let mention = json!([{"type": "mention", "offset": 0, "length": 9}]);
    let bo = json!({"id": 43, "is_bot": false, "first_name": "Bo]"});
    let bot = json!({"id": 777, "is_bot": true, "first_name": "Atlas"});
    let asks = |more: Value| {
        let mut fields = json!({"text": "@AtlasBot why?", "entities": mention});
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        inbound(fields).text
    };
    let replied = json!({"message_id": 3, "from": bo, "text": "It is\nlate [x]."});
    for (more, expected) in [
        (json!({"reply_to_message": replied}), "[in reply to Bo: It is late x .]\n"),
        (
            json!({"reply_to_message": replied, "quote": {"text": "late", "position": 6}}),
            "[in reply to Bo: late]\n",
        ),
        (
            json!({"reply_to_message": {"from": bo, "photo": [], "caption": "us"}}),
            "[in reply to Bo: photo us]\n",
        ),
        (
            json!({"reply_to_message": {"from": bot, "text": "x",
                "sender_chat": {"id": -1, "type": "channel", "title": "News"}}}),
            "[in reply to News: x]\n",
        ),
        (json!({"reply_to_message": {"text": "x"}}), "[in reply to somebody: x]\n"),
        (json!({"reply_to_message": {"from": bot, "text": "mine"}}), "[in reply to you: mine]\n"),
        (
            json!({"reply_to_message": {"from": bot, "text": "mine"}, "quote": {"text": "mi"}}),
            "[in reply to you: mi]\n",
        ),
        (
            json!({"external_reply": {}, "quote": {"text": "far"}}),
            "[in reply to a message elsewhere: far]\n",
        ),
        (json!({"external_reply": {}}), ""),
        (
            json!({"external_reply": {"origin": {"type": "hidden_user", "sender_user_name": "Eve",
                "date": 1}, "document": {"file_name": "x.pdf"}}}),
            "[in reply to Eve, elsewhere: document x.pdf]\n",
        ),
        (json!({"reply_to_message": {"from": bo, "forum_topic_created": {"name": "t"}}}), ""),
        (json!({"reply_to_message": 7, "quote": "x"}), ""),
    ] {
        assert_eq!(asks(more.clone()), format!("{expected}@AtlasBot why?"), "{more}");
    }
    for (from, carried) in [(&bo, 1_000), (&bot, 200)] {
        let long = asks(json!({"reply_to_message": {"from": from, "text": "é".repeat(5_000)}}));
        assert_eq!(long.matches('é').count(), carried);
    }
    let nearby = inbound(json!({"text": "why?", "reply_to_message": replied}));
    assert_eq!(nearby.text, "why?");
    let command = inbound(json!({"text": "/stop now", "reply_to_message": replied})).command;
    assert_eq!(command.map(|line| line.rest).as_deref(), Some("now"));
}

#[test]
fn what_may_be_text_of_the_documents_comes_with_what_holds_them() {
    let document = |name: &str| json!({"file_id": name, "file_name": name, "file_size": 7});
    let bo = json!({"id": 43, "is_bot": false, "first_name": "Bo"});
    let bot = json!({"id": 777, "is_bot": true, "first_name": "Atlas"});
    let replied = |from: &Value| json!({"from": from, "document": document("a.log")});
    let mention = json!([{"type": "mention", "offset": 0, "length": 9}]);
    let handles = |fields: Value| -> Vec<String> {
        inbound(fields).files.into_iter().map(|file| file.handle).collect()
    };
    for (fields, expected) in [
        (json!({"document": document("a.txt")}), vec!["a.txt"]),
        (json!({"document": document("a.pdf")}), vec![]),
        (json!({"document": {"file_id": "x", "mime_type": "text/csv"}}), vec!["x"]),
        (json!({"document": {"file_name": "a.txt"}}), vec![]),
        (json!({"animation": {"duration": 2}, "document": document("a.txt")}), vec![]),
        (json!({"document": document("a.txt"), "forward_origin": {"type": "new"}}), vec!["a.txt"]),
        (
            json!({"text": "@AtlasBot why?", "entities": mention,
                "reply_to_message": replied(&bo)}),
            vec!["a.log"],
        ),
        (
            json!({"document": document("b.txt"), "caption": "@AtlasBot why?",
                "caption_entities": mention, "reply_to_message": replied(&bo)}),
            vec!["a.log", "b.txt"],
        ),
        (
            json!({"text": "@AtlasBot why?", "entities": mention,
                "external_reply": {"document": document("far.md")}}),
            vec!["far.md"],
        ),
        (json!({"text": "why?", "reply_to_message": replied(&bo)}), vec![]),
        (json!({"text": "why?", "reply_to_message": replied(&bot)}), vec![]),
    ] {
        assert_eq!(handles(fields.clone()), expected, "{fields}");
    }
    let file = &inbound(json!({"document": document("a.txt")})).files[0];
    assert_eq!(
        (file.name.as_str(), file.size, file.media_type.as_deref()),
        ("a.txt", Some(7), None)
    );
}

#[test]
fn what_telegram_itself_tells_is_nothing_to_do() {
    for (fields, expected) in [
        (json!({"new_chat_members": []}), "new_chat_members"),
        (json!({"pinned_message": {"message_id": 1}}), "pinned_message"),
        (json!({"video_chat_of_tomorrow": {}}), "video_chat_of_tomorrow"),
        (json!({"migrate_from_chat_id": -5}), "migrate_from_chat_id"),
    ] {
        let event = decoded(&update(fields)).event;
        assert_eq!(event, Event::Nothing { kind: expected.to_owned() });
    }
    let raw = r#"{"update_id":1,"edited_message":{"message_id":1}}"#;
    assert_eq!(decoded(raw).event, Event::Nothing { kind: "edited_message".to_owned() });
}

#[test]
fn a_group_that_became_a_supergroup_is_moved() {
    let raw = update(json!({
        "chat": {"id": -5, "type": "group", "title": "G"}, "migrate_to_chat_id": -1005,
    }));
    let expected = Event::ChatMoved { from: "-5".into(), to: "-1005".into() };
    assert_eq!(decoded(&raw).event, expected);
}

#[test]
fn what_is_unknown_costs_only_itself() {
    let message = inbound(json!({
        "text": "meet at five", "entities": [{"type": "date_time", "offset": 8, "length": 4}, 7],
        "reply_markup": {"inline_keyboard": [[{"hologram": true}]]}, "of_tomorrow": {"a": [1]},
        "reply_to_message": {"hologram": true}, "quote": 9,
    }));
    assert_eq!(message.text, "meet at five");
    let raw = update(json!({"text": "hi"})).replacen('{', r#"{"a_new_field":true,"#, 1);
    assert!(matches!(decoded(&raw).event, Event::Message(_)));
}

#[test]
fn what_cannot_be_read_is_kept_without_quoting_it() {
    for raw in [
        "{}",
        "[]",
        "\"secret\"",
        "{\"update_id\":5}",
        r#"{"update_id":5,"message":"secret"}"#,
        r#"{"update_id":5,"message":{"text":"secret","message_id":"secret"}}"#,
        &update(json!({"hologram": "secret"})),
        &update(json!({"date": i64::MAX, "text": "secret"})),
        &update(json!({"chat": {"id": 1, "type": "secret"}, "text": "secret"})),
    ] {
        let envelope = decoded(raw);
        let Event::Unreadable { why } = envelope.event else { panic!("read: {raw}") };
        assert!(!why.contains("secret"), "{why}");
        assert_eq!(envelope.raw, raw);
        assert!(!envelope.key.is_empty());
    }
}

#[test]
fn a_huge_or_deep_update_is_read_or_kept() {
    let storm = "👩‍👩‍👧‍👦".repeat(400_000);
    assert_eq!(inbound(private(&storm)).text, storm);
    let deep = format!(
        r#"{{"update_id":1,"message":{}1{}}}"#,
        r#"{"reply_to_message":"#.repeat(50_000),
        "}".repeat(50_000)
    );
    assert!(matches!(decoded(&deep).event, Event::Unreadable { .. }));
}

/// Any JSON, with Telegram's names in it more often than chance would have it.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-5_i64..50).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        prop::sample::select(vec!["private", "mention", "/x@AtlasBot", "@AtlasBot", "🎉"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let name = prop::sample::select(vec![
            "id",
            "type",
            "chat",
            "from",
            "user",
            "offset",
            "length",
            "text",
            "title",
            "emoji",
            "value",
            "file_size",
            "first_name",
            "is_bot",
            "location",
            "options",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name, inner, 0..5).prop_map(|map| {
                Value::Object(map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            }),
        ]
    })
}

const FIELDS: [&str; 24] = [
    "message_id",
    "date",
    "edit_date",
    "chat",
    "from",
    "sender_chat",
    "text",
    "caption",
    "entities",
    "caption_entities",
    "reply_to_message",
    "forward_origin",
    "message_thread_id",
    "is_topic_message",
    "photo",
    "document",
    "sticker",
    "poll",
    "venue",
    "location",
    "dice",
    "contact",
    "migrate_to_chat_id",
    "pinned_message",
];

proptest! {
    #[test]
    fn no_update_is_lost_or_panics(
        fields in prop::collection::vec((prop::sample::select(FIELDS.to_vec()), value()), 0..5),
    ) {
        let fields = fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let raw = update(Value::Object(fields));
        let envelope = decoded(&raw);
        prop_assert_eq!(&envelope, &decoded(&raw));
        prop_assert_eq!(envelope.raw, raw);
        if let Event::Message(inbound) = envelope.event {
            prop_assert!(!inbound.lineage.is_empty());
        }
    }

    #[test]
    fn no_bytes_panic(raw in "\\PC{0,200}", cut in 0_usize..400) {
        decoded(&raw);
        let whole = update(json!({"text": raw, "photo": [{"file_size": 7}]}));
        let end = (0..=cut.min(whole.len())).rev().find(|at| whole.is_char_boundary(*at));
        decoded(&whole[..end.unwrap_or_default()]);
    }

    #[test]
    fn a_mention_is_found_wherever_it_stands(before in "\\PC{0,30}", after in "\\PC{0,30}") {
        let text = format!("{before}@aTLASbOT{after}");
        let offset: usize = before.chars().map(char::len_utf16).sum();
        let entities = json!([{"type": "mention", "offset": offset, "length": 9}]);
        let message = inbound(json!({"text": text, "entities": entities}));
        let command = text.starts_with('/');
        prop_assert!(command || message.addressed == Addressed::Mentioned, "{}", text);
    }
}
