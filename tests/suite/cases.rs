//! What went wrong elsewhere, each as the whole kind of fault. The numbers are the cases'.

use std::time::Duration;

use atlas_tests::bell::CEILING;
use atlas_tests::faults::{KILL, LATER};
use atlas_tests::harness::OWNER;
use atlas_tests::model::{Takes, call, calls, empty, raw_sse, say};
use atlas_tests::telegram::SendFault;
use serde_json::json;

use crate::scene;

#[test]
fn case_17_a_broken_piece_of_tool_markup_is_never_sent() {
    for markup in [
        "<tool_call>\n{\"name\": \"memory\", \"arguments\": {\"target\": \"us",
        "</tool_call>",
        "{\"name\": \"memory\", \"arguments\": {\"target\": \"user\"}}",
        "```json\n{\"name\": \"memory\", \"arguments\": {}}\n```",
        "<function=memory>{\"target\": \"user\"}</function>",
        "<|tool_call|>memory<|end|>",
        "[TOOL_CALLS] [{\"name\": \"memory\", \"arguments\": {}}]",
    ] {
        let mut scene = scene();
        scene.model.rule(Takes::All, move |_| say(markup));
        scene.start();
        scene.dm("hello");
        let notice = scene.until(&format!("a notice instead of {markup:?}"), |scene| {
            scene.telegram.texts(OWNER).pop()
        });
        scene.settled();
        let texts = scene.telegram.texts(OWNER);
        assert_eq!(texts.len(), 1, "{markup:?}: {texts:?}");
        for piece in ["tool_call", "arguments", "function", "TOOL_CALLS"] {
            assert!(!notice.contains(piece), "{markup:?} was shown: {notice:?}");
        }
        let asked = scene.model.requests().len();
        assert!((2..=4).contains(&asked), "{markup:?}: asked {asked} times");
    }
}

#[test]
fn case_17_after_one_reminder_a_proper_call_goes_on() {
    let mut scene = scene();
    let add = json!({"target": "user", "operations": [{"action": "add", "content": "Likes tea."}]});
    let as_text = format!("{{\"name\": \"memory\", \"arguments\": {add}}}");
    scene.model.script(Takes::All, [say(&as_text), call("memory", &add), say("Noted.")]);
    scene.start();
    scene.dm("I like tea");
    scene.answered("Noted.");
    scene.settled();
    assert_eq!(scene.home.read("memory/USER.md"), "Likes tea.\n");
}

#[test]
fn case_17_an_answer_about_tool_markup_is_an_answer() {
    let mut scene = scene();
    let text = "Models write <tool_call> tags when they call a tool; a name and arguments follow.";
    scene.model.script(Takes::All, [say(text)]);
    scene.start();
    scene.dm("how do models call tools?");
    scene.answered(text);
}

#[test]
fn case_23_after_a_restart_with_nothing_new_nothing_happens() {
    let mut scene = scene();
    scene.model.script(Takes::All, [say("one"), say("two")]);
    scene.start();
    scene.dm("first");
    scene.answered("one");
    scene.settled();
    for clean in [true, false, true] {
        if clean {
            assert!(scene.stop().success());
        } else {
            scene.kill();
        }
        let polls = scene.telegram.polls().len();
        scene.start();
        scene.until("two more polls", |scene| (scene.telegram.polls().len() > polls).then_some(()));
    }
    scene.dm("second");
    scene.answered("two");
    scene.settled();
    assert_eq!(scene.telegram.texts(OWNER), ["one", "two"]);
    assert_eq!(scene.model.requests().len(), 2);
}

#[test]
fn case_23_an_update_that_comes_again_changes_nothing() {
    let mut scene = scene();
    scene.model.script(Takes::All, [say("one"), say("two")]);
    scene.start_with(&[(KILL, "accept:after:1")]);
    scene.dm("first");
    scene.crashed("accept:after:1");
    assert_eq!(scene.telegram.unconfirmed(), 1, "Telegram was told nothing yet");
    scene.start();
    scene.answered("one");
    scene.settled();
    scene.dm("second");
    scene.answered("two");
    scene.settled();
    assert_eq!(scene.model.requests().len(), 2);
}

#[test]
fn case_24_a_lost_receipt_costs_at_most_one_marked_repeat_over_two_restarts() {
    let mut scene = scene();
    scene.model.script(Takes::All, [say("one"), say("two")]);
    scene.start_with(&[(KILL, "send:after:1")]);
    scene.dm("first");
    scene.crashed("send:after:1");
    for _ in 0..2 {
        scene.start();
        scene.settled();
        assert!(scene.stop().success());
    }
    scene.start();
    scene.dm("second");
    scene.answered("two");
    scene.settled();
    let texts = scene.telegram.texts(OWNER);
    assert_eq!(texts.len(), 3, "{texts:?}");
    assert_eq!((texts[0].as_str(), texts[2].as_str()), ("one", "two"));
    assert!(texts[1].contains('♻') && texts[1].contains("one"));
}

#[test]
fn case_24_nothing_older_than_a_day_is_sent_again() {
    let mut scene = scene();
    scene.model.script(Takes::All, [say("the answer of yesterday"), say("two")]);
    scene.start_with(&[(KILL, "send:before:1")]);
    scene.dm("first");
    scene.crashed("send:before:1");
    scene.telegram.turn_clock(Duration::from_secs(90_000));
    scene.start_with(&[(LATER, "90000")]);
    scene.dm("second");
    scene.answered("two");
    scene.settled();
    let texts = scene.telegram.texts(OWNER);
    assert!(!texts.iter().any(|text| text == "the answer of yesterday"), "{texts:?}");
}

#[test]
fn case_28_each_answer_belongs_to_its_own_message() {
    let mut scene = scene();
    scene.model.rule(Takes::All, |request| {
        say(if request.last("user").contains("second") { "answer two" } else { "answer one" })
    });
    scene.telegram.plan_sends([SendFault::LostAnswer]);
    scene.start();
    scene.dm("first");
    scene.until("the first answer", |scene| scene.telegram.texts(OWNER).pop());
    scene.dm("second");
    scene.answered("answer two");
    scene.settled();
    let texts = scene.telegram.texts(OWNER);
    let kinds: Vec<bool> = texts.iter().map(|text| text.contains("answer two")).collect();
    assert_eq!(kinds, [false, false, true], "in order, the repeat before the next: {texts:?}");
    assert!(texts[1].contains('♻'));
}

#[test]
fn case_48_blank_lines_around_a_separator_belong_to_no_entry() {
    for text in [
        "a\n\n§\nb",
        "a\n§\nb\n",
        "a\n\n\n  §  \n\nb\n\n",
        "\u{feff}a\r\n§\r\nb\r\n",
        "§\na\n§\n§\nb\n§",
    ] {
        let mut scene = scene();
        scene.home.write("memory/USER.md", text);
        let replace = json!({"action": "replace", "old_text": "a", "content": "A, now longer"});
        scene.model.script(
            Takes::All,
            [call("memory", &json!({"target": "user", "operations": [replace]})), say("Done.")],
        );
        scene.start();
        scene.dm("write it");
        scene.answered("Done.");
        scene.settled();
        assert_eq!(scene.home.read("memory/USER.md"), "A, now longer\n§\nb\n", "from {text:?}");
    }
}

#[test]
fn case_54_a_fact_typed_by_hand_is_in_the_next_request() {
    let mut scene = scene();
    scene.model.script(Takes::All, [say("one"), say("two"), say("three")]);
    scene.start();
    scene.dm("first");
    scene.answered("one");
    scene.settled();
    scene.home.write("memory/USER.md", "Has a cat called Pixel.\n");
    scene.dm("second");
    scene.answered("two");
    let second = scene.model.last().expect("a request");
    assert!(second.text().contains("Has a cat called Pixel."));
    // Emptied, it is told once, and no longer counts.
    scene.home.write("memory/USER.md", "");
    scene.dm("third");
    scene.answered("three");
    let third = scene.model.last().expect("a request").text();
    let after = third.split("Has a cat called Pixel.").last().unwrap_or_default().to_owned();
    assert!(after.contains("empty"), "the model is told that the copy is void: {after}");
}

#[test]
fn case_55_what_stood_before_a_memory_write_stays_cached() {
    let mut scene = scene();
    let add =
        json!({"target": "memory", "operations": [{"action": "add", "content": "Uses git."}]});
    scene.model.script(Takes::All, [say("one"), call("memory", &add), say("two"), say("three")]);
    scene.start();
    for (message, answer) in [("first", "one"), ("second", "two"), ("third", "three")] {
        scene.dm(message);
        scene.answered(answer);
        scene.settled();
    }
    let requests = scene.model.requests();
    let (before, after) = (&requests[2], &requests[3]);
    assert!(after.cached >= before.input, "cached {} of {}", after.cached, before.input);
}

#[test]
fn case_74_a_broken_transcript_is_mended_before_it_is_sent() {
    for damage in [
        "DELETE FROM messages WHERE body LIKE '%\"role\":\"tool\"%'",
        "UPDATE messages SET body = json_set(body, '$.call', 'another') WHERE body LIKE '%\"role\":\"tool\"%'",
        "UPDATE messages SET body = json_set(body, '$.text', '') WHERE body LIKE '%\"role\":\"tool\"%'",
        "UPDATE messages SET body = json_set(body, '$.calls[0].name', '', '$.blocks', NULL) WHERE body LIKE '%\"calls\":[{%'",
        "UPDATE messages SET body = json_set(body, '$.calls', json('[]'), '$.blocks', NULL) WHERE body LIKE '%\"calls\":[{%'",
        "DELETE FROM messages WHERE body LIKE '%\"calls\":[{%'",
    ] {
        let mut scene = scene();
        let add = json!({"target": "user", "operations": [{"action": "add", "content": "x"}]});
        scene
            .model
            .script(Takes::All, [call("memory", &add), say("one"), say("two"), say("three")]);
        scene.start();
        scene.dm("first");
        scene.answered("one");
        scene.settled();
        assert!(scene.stop().success());
        assert!(scene.home.damage(damage) > 0, "nothing was damaged by {damage}");
        scene.model.announce_break();
        scene.start();
        for (message, answer) in [("second", "two"), ("third", "three")] {
            scene.dm(message);
            scene.answered(answer);
            scene.settled();
        }
    }
}

#[test]
fn case_78_words_about_an_overflow_are_only_words() {
    let mut scene = scene();
    scene.model.rule(Takes::All, |_| say("A message for you."));
    scene.start();
    let quotes = [
        "Context overflow: prompt too large for the model.",
        "Error 429: rate limit exceeded, retry after 20s",
        "{\"error\": {\"code\": \"context_length_exceeded\"}}",
        "tool_use ids were found without tool_result blocks",
        "[interrupted by a restart; outcome unknown]",
    ];
    for (number, quote) in quotes.iter().enumerate() {
        scene.dm(quote);
        scene
            .until("an answer", |scene| (scene.telegram.texts(OWNER).len() > number).then_some(()));
    }
    scene.settled();
    assert_eq!(scene.model.requests().len(), quotes.len());
    assert_eq!(scene.telegram.texts(OWNER).len(), quotes.len());
}

#[test]
fn case_80_an_empty_answer_is_asked_for_once_more_and_then_told() {
    let reasoning = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\
                     \"reasoning_content\":\"hm\"},\"finish_reason\":null}]}\n\n\
                     data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":null},\
                     \"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    for nothing in [empty(), say("  \n "), raw_sse(reasoning)] {
        let mut scene = scene();
        let again = nothing.clone();
        scene
            .model
            .script(Takes::All, [nothing, again, say("back"), empty(), say("at the second try")]);
        scene.start();
        scene.dm("hello");
        let notice = scene.until("a notice", |scene| scene.telegram.texts(OWNER).pop());
        assert!(!notice.trim().is_empty() && !notice.contains("hm"), "{notice:?}");
        scene.settled();
        scene.dm("hello again");
        scene.answered("back");
        scene.dm("and again");
        scene.answered("at the second try");
        scene.settled();
        assert_eq!(scene.telegram.texts(OWNER).len(), 3);
    }
}

#[test]
fn case_80_two_calls_in_one_answer_are_both_answered() {
    let mut scene = scene();
    let add =
        |text: &str| format!("{{\"target\":\"user\",\"action\":\"add\",\"content\":\"{text}\"}}");
    let (one, two) = (add("Likes tea."), add("Likes cake."));
    scene.model.script(Takes::All, [calls([("memory", &one), ("memory", &two)]), say("Both.")]);
    scene.start();
    scene.dm("tea and cake");
    scene.answered("Both.");
    scene.settled();
    assert_eq!(scene.home.read("memory/USER.md"), "Likes tea.\n§\nLikes cake.\n");
}

#[test]
fn case_85_a_broken_configuration_names_key_line_and_nearest_key() {
    for (written, line, said) in [
        ("[accounts.tg]\ngroupAllowFrm = [\"1\"]", "groupAllowFrm", vec!["allow", "atlas.toml"]),
        ("[conversations]\njoin_dirct = true", "join_dirct", vec!["join_direct"]),
        ("[models.main]\nprovidr = \"openai\"", "providr", vec!["provider"]),
        ("[[routes]]\naccount = \"tgg\"\nchat = \"1\"", "account = \"tgg\"", vec!["tgg", "tg"]),
        ("timezone = \"Europe/Berlinn\"", "timezone", vec!["Europe/Berlinn"]),
        ("[accounts.tg\ntoken = 5", "[accounts.tg\n", vec!["atlas.toml"]),
    ] {
        let mut scene = scene();
        scene.config = match written.split_once('\n') {
            // A section that exists is added to where it stands.
            Some((header, rest)) if scene.config.contains(&format!("{header}\n")) => {
                scene.config.replace(&format!("{header}\n"), &format!("{header}\n{rest}\n"))
            }
            Some(_) => format!("{}\n{written}\n", scene.config),
            None => scene.config.replace("timezone = \"UTC\"", written),
        };
        scene.spawn_gateway(&[]);
        let status = scene.bell.clone().wait(CEILING, || scene.gateway().ended());
        let err = scene.gateway().err();
        assert_eq!(status.and_then(|status| status.code()), Some(78), "{written}: {err}");
        let broken = scene.config.find(line).expect("the broken line");
        let number = scene.config[..broken].lines().count() + 1;
        for word in said.into_iter().chain([line.trim_end(), &format!("atlas.toml:{number}:")]) {
            assert!(err.contains(word), "{written}: {word} is not named: {err}");
        }
        scene.kill();
    }
}
