//! Anthropic's dialect end to end: the same conversations, asked for in another way. The stand-in
//! refuses what the real server refuses.

use atlas_tests::harness::{Harness, OWNER};
use atlas_tests::model::{Dialect, KEY, Takes, call, calls, failing, say, status, truncated};
use atlas_tests::telegram::Draft;
use serde_json::{Value, json};

use crate::scene;

fn anthropic() -> Harness {
    let mut scene = scene();
    scene.use_anthropic();
    scene
}

fn add(text: &str) -> Value {
    json!({"target": "user", "operations": [{"action": "add", "content": text}]})
}

fn marks(body: &Value) -> usize {
    body.to_string().matches("\"cache_control\"").count()
}

#[test]
fn a_conversation_with_a_tool_goes_on_over_a_restart() {
    let mut scene = anthropic();
    scene.model.script(
        Takes::All,
        [
            calls([
                ("memory", &*add("Likes tea.").to_string()),
                ("memory", "{\"target\": "),
                ("nonsense", ""),
            ]),
            say("Noted."),
            say("You like tea."),
        ],
    );
    scene.start();
    scene.dm("I like tea");
    scene.answered("Noted.");
    scene.settled();
    let second = scene.model.last().expect("a request");
    assert_eq!(second.dialect, Dialect::Messages);
    let results = second.body["messages"][2]["content"].as_array().expect("blocks").clone();
    assert_eq!(results.len(), 3, "all results in one message, right after the calls");
    assert!(results[1]["content"].as_str().expect("text").contains("JSON"), "{}", results[1]);
    assert!(scene.home.read("memory/USER.md").contains("Likes tea."));
    scene.stop();
    scene.start();
    scene.dm("what do I like?");
    scene.answered("You like tea.");
    scene.settled();
    let third = scene.model.last().expect("a request");
    assert!(third.cached * 100 / third.input > 80, "{} of {}", third.cached, third.input);
    assert_eq!(marks(&third.body), 3, "the instructions, the request before, the newest block");
    assert!(third.body.to_string().contains("\"ttl\":\"1h\""));
}

#[test]
fn what_is_said_while_the_tools_run_comes_after_their_results() {
    let mut scene = anthropic();
    let gate = scene.model.gate();
    scene
        .model
        .script(Takes::All, [call("memory", &add("Likes tea.")).after(&gate), say("Both seen.")]);
    scene.start();
    scene.dm("I like tea");
    scene.until("the call hangs", |_| gate.reached().then_some(()));
    scene.dm("and coffee");
    scene.until("it is stored", |scene| (scene.telegram.unconfirmed() == 0).then_some(()));
    gate.open();
    scene.answered("Both seen.");
    scene.settled();
    let last = scene.model.last().expect("a request");
    let blocks = last.body["messages"][2]["content"].as_array().expect("blocks");
    assert_eq!(blocks[0]["type"], "tool_result");
    assert!(blocks[1]["text"].as_str().expect("text").contains("and coffee"));
    assert_eq!(scene.model.requests().len(), 2, "nothing had to be asked twice");
}

#[test]
fn more_than_eighteen_blocks_of_a_step_have_a_mark_in_their_middle() {
    let mut scene = anthropic();
    let fact = |number: usize| ("memory".to_owned(), add(&format!("Fact {number}.")).to_string());
    let facts: Vec<(String, String)> = (0..10).map(fact).collect();
    let facts: Vec<(&str, &str)> = facts.iter().map(|(name, text)| (&**name, &**text)).collect();
    let many: [(&str, &str); 10] = facts.try_into().expect("ten calls");
    scene.model.script(Takes::All, [calls(many), say("All kept.")]);
    scene.start();
    scene.dm("remember all this");
    scene.answered("All kept.");
    scene.settled();
    assert_eq!(marks(&scene.model.last().expect("a request").body), 4);
}

// Case 76: reasoning on, two turns: what was signed is stored as it came and returned.
#[test]
fn case_76_thoughts_come_back_to_their_server_as_it_signed_them() {
    let mut scene = anthropic();
    scene.model.bind_thoughts();
    scene.model.script(
        Takes::All,
        [
            call("memory", &add("Likes tea.")).thinking("They like tea, é \"really\"."),
            say("Noted.").thinking("It is stored."),
            say("Tea."),
        ],
    );
    scene.start();
    scene.dm("I like tea");
    scene.answered("Noted.");
    scene.settled();
    scene.stop();
    scene.start();
    scene.dm("what do I like?");
    scene.answered("Tea.");
    scene.settled();
    let last = scene.model.last().expect("a request").body.to_string();
    assert_eq!(last.matches("\"type\":\"thinking\"").count(), 2, "{last}");
}

// Case 95: reasoning on, group message: reasoning is never delivered.
#[test]
fn case_95_a_thought_is_delivered_nowhere() {
    let mut scene = anthropic();
    scene.model.rule(Takes::All, |_| say("Hello, group.").thinking("a secret thought"));
    scene.start();
    let (group, owner) = (scene.group(), scene.owner());
    let name = atlas_tests::telegram::BOT_NAME;
    scene.telegram.write(Draft::text(&group, &owner, &format!("{name} hello")).mentioning(name));
    scene.sent_to(group.id, "Hello, group.");
    scene.dm("hello");
    scene.answered("Hello, group.");
    scene.settled();
    let sent = scene.telegram.sent();
    assert!(!sent.iter().any(|sent| sent.text.contains("secret")), "{sent:?}");
}

#[test]
fn thoughts_whose_signature_is_refused_are_left_out_for_the_turn_and_nobody_notices() {
    let mut scene = anthropic();
    scene.model.script(
        Takes::All,
        [
            say("One.").thinking("hm"),
            call("memory", &add("Likes tea.")).thinking("aha"),
            say("Two."),
        ],
    );
    scene.start();
    scene.dm("first");
    scene.answered("One.");
    scene.settled();
    scene.model.forget_signatures();
    scene.dm("second");
    scene.answered("Two.");
    scene.settled();
    let requests = scene.model.requests();
    assert_eq!(requests.len(), 4, "refused once, then without thoughts until the turn ends");
    assert!(requests[1].body.to_string().contains("\"type\":\"thinking\""));
    for request in &requests[2..] {
        assert!(!request.body.to_string().contains("\"type\":\"thinking\""));
    }
    assert_eq!(scene.answers(), ["One.", "Two."], "nobody is told");
}

#[test]
fn thoughts_that_lost_their_place_are_passed_over_by_the_server_from_then_on() {
    let mut scene = anthropic();
    scene.model.bind_thoughts();
    scene.model.rule(Takes::All, |request| {
        say(&format!("Answer {}.", request.messages().len())).thinking("hm")
    });
    scene.start();
    scene.dm("first");
    scene.answered("Answer 2.");
    scene.settled();
    scene.home.write("SOUL.md", "You are somebody else.");
    scene.model.announce_break();
    scene.dm("second");
    scene.answered("Answer 4.");
    scene.dm("third");
    scene.answered("Answer 6.");
    scene.settled();
    let requests = scene.model.requests();
    assert_eq!(requests.len(), 4, "refused once, and never again");
    for request in &requests[2..] {
        let body = request.body.to_string();
        assert!(body.contains("drop_block") && body.contains("\"type\":\"thinking\""), "{body}");
    }
}

#[test]
fn a_cut_takes_no_thought_s_place_away_from_the_conversation() {
    let mut scene = anthropic();
    scene.configure("[conversations]\ncompact_at = 6000");
    scene.model.bind_thoughts();
    scene.model.announce_break();
    scene.model.rule(Takes::All, |request| {
        let length = request.text().len();
        say(&format!("Many words. {}", "word ".repeat(200 + length % 7))).thinking("hm")
    });
    scene.start();
    let mut turn = 0;
    scene.until("a quiet line about the cut", |scene| {
        let cut = scene.telegram.sent().into_iter().any(|sent| sent.silent);
        if !cut && scene.answers().len() == turn && turn < 40 {
            turn += 1;
            scene.dm(&format!("turn {turn} {}", "and more words ".repeat(60)));
        }
        cut.then_some(())
    });
    scene.until("the answer after it", |scene| (scene.answers().len() == turn).then_some(()));
    scene.dm("go on");
    scene.until("one more", |scene| (scene.answers().len() == turn + 1).then_some(()));
    scene.settled();
    let refused = scene.model.requests().len() - turn - 1;
    assert_eq!(refused, 1, "thoughts that were kept lost their place, which is refused once");
}

#[test]
fn whatever_the_server_sends_the_person_gets_an_answer_and_never_half_of_one() {
    for (name, first) in [
        ("429", status(429, "slow down").retry_after(1)),
        ("500", status(500, "internal error")),
        ("529", status(529, "Overloaded")),
        ("truncated", truncated("half an ans")),
        ("an error in the stream", failing("half an ans", "overloaded_error")),
        ("another error in the stream", failing("half an ans", "api_error")),
    ] {
        let mut scene = anthropic();
        scene.model.script(Takes::All, [first, say("after all")]);
        scene.start();
        scene.dm("hello");
        scene.answered("after all");
        scene.settled();
        let texts = scene.telegram.texts(OWNER);
        assert!(!texts.iter().any(|text| text.contains("half")), "{name}: {texts:?}");
        assert_eq!(scene.model.requests().len(), 2, "{name}");
    }
}

#[test]
fn a_refused_key_and_an_empty_account_are_told_with_the_servers_reason() {
    for (code, reason) in [
        (401, "invalid x-api-key"),
        (402, "no credit is left"),
        (400, "Your credit balance is too low to access the Anthropic API."),
        (404, "model: stand-in"),
    ] {
        let mut scene = anthropic();
        scene.model.script(Takes::All, [status(code, reason)]);
        scene.start();
        scene.dm("hello");
        scene.until(&format!("the reason of the {code}"), |scene| {
            scene.telegram.texts(OWNER).iter().any(|text| text.contains(reason)).then_some(())
        });
        scene.settled();
    }
}

#[test]
fn every_end_of_an_answer_has_its_own_sentence() {
    let mut sentences = Vec::new();
    for end in ["max_tokens", "pause_turn"] {
        let mut scene = anthropic();
        scene.model.script(Takes::All, [say("a part of it").ending(end)]);
        scene.start();
        scene.dm("hello");
        scene.answered("a part of it");
        scene.settled();
        let notice = scene.telegram.sent().into_iter().find(|sent| sent.silent);
        sentences.push(notice.expect("a quiet line").text);
    }
    let mut scene = anthropic();
    scene.model.script(Takes::All, [atlas_tests::model::empty().ending("refusal")]);
    scene.start();
    scene.dm("hello");
    let told = scene.until("a word about it", |scene| scene.telegram.texts(OWNER).pop());
    scene.settled();
    assert!(told.contains("refused"), "{told}");
    sentences.push(told);
    sentences.sort();
    sentences.dedup();
    assert_eq!(sentences.len(), 3, "{sentences:?}");
}

#[test]
fn check_knows_the_model_or_names_the_nearest_and_asks_only_where_it_is_told_to() {
    let check = |scene: &mut Harness, arguments: &[&str]| {
        let process = scene.spawn("check", arguments, &[]);
        scene.finish(process)
    };
    let mut scene = anthropic();
    let (status, out, err) = check(&mut scene, &["check"]);
    assert!(status.success() && out.contains("stand-in"), "{out}\n{err}");
    assert!(scene.model.requests().is_empty());
    scene.model.script(Takes::All, [say("Yes.")]);
    let (status, out, err) = check(&mut scene, &["check", "--ask"]);
    assert!(status.success() && out.contains("it answers"), "{out}\n{err}");

    let mut scene = anthropic();
    scene.config = scene.config.replace("model = \"stand-in\"", "model = \"stand-off\"");
    let (status, out, _) = check(&mut scene, &["check", "--ask"]);
    assert_eq!(status.code(), Some(1));
    assert!(out.contains("does not list the model stand-off; it has stand-in"), "{out}");

    let mut scene = anthropic();
    let wrong = [("STAND_IN_KEY", "sk-ant-wrong-key-of-a-test")];
    let process = scene.spawn("check", &["check"], &wrong);
    let (status, out, _) = scene.finish(process);
    assert_eq!(status.code(), Some(1));
    assert!(out.contains("refuses the key") && !out.contains(wrong[0].1), "{out}");
    assert!(!out.contains(KEY));

    let mut scene = anthropic();
    scene.config = scene.config.replace(&scene.model.base_url(), "http://127.0.0.1:9/v1");
    let (status, out, _) = check(&mut scene, &["check"]);
    assert_eq!(status.code(), Some(1));
    assert!(out.contains("127.0.0.1:9 does not answer"), "{out}");
}
