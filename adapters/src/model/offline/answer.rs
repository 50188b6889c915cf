//! What the stand-in says, and what it asks the `memory` tool to do. A pure function of the request,
//! the fresh id of a call apart.

use atlas_core::message::{Body, Call};
use atlas_core::ports::ModelRequest;
use uuid::Uuid;

use super::fact::{fact, to_you};
use super::intent::{Intent, understand};
use super::known::{Known, Operation, Target, arguments, is_applied};
use super::said_since_last_answer;

/// The most entries that are listed.
const LISTED: usize = 20;
/// The most characters of a refusal that are repeated.
const REFUSAL: usize = 600;

const HELLO: &str = "Hello!";
const WHO: &str = "I am a small offline stand-in, not a language model: I follow a few rules, \
    in plain English, without a key and without a server.";
const CAN: &str = "I can keep facts for you. Try \"remember that my cat is called Pixel\", then \"what \
    is my cat called?\", \"what do you know about me?\" or \"forget my cat\".";
const REAL: &str = "For a real model, set OPENAI_API_KEY or ANTHROPIC_API_KEY and start again, or write \
    [models.default] into atlas.toml: provider = \"openai\", the model's name, and base_url for a server of your own.";

/// The answer's text, and the call, if one is needed.
pub(super) fn answer(request: &ModelRequest) -> (String, Option<Call>) {
    let known = Known::of(request);
    let mut lines = outcomes(request);
    let mut call = None;
    if let Some(said) = said_since_last_answer(&request.messages) {
        let (line, wanted) = reply(&said, &known);
        let has_memory = request.tools.iter().any(|tool| tool.name == "memory");
        match wanted {
            Some(_) if !has_memory => lines.push(
                "I cannot write my memory in this conversation. Ask me in our private chat."
                    .to_owned(),
            ),
            Some((target, operation)) => call = Some(memory_call(target, &operation)),
            None => lines.push(line),
        }
    }
    if lines.is_empty() && call.is_none() {
        lines.push(help());
    }
    (lines.join("\n\n"), call)
}

fn memory_call(target: Target, operation: &Operation) -> Call {
    let id = format!("call_{}", Uuid::new_v4().simple());
    Call { id, name: "memory".to_owned(), arguments: arguments(target, operation) }
}

/// One line for each result since the last answer: what was kept, or why it was not.
fn outcomes(request: &ModelRequest) -> Vec<String> {
    let mut lines = Vec::new();
    for body in request.messages.iter().rev() {
        match &**body {
            Body::Tool { call, text, .. } => lines.push(outcome(request, call, text)),
            Body::Assistant { .. } => break,
            Body::User { .. } => {}
        }
    }
    lines.reverse();
    lines
}

fn outcome(request: &ModelRequest, id: &str, reply: &str) -> String {
    if let Some((_, kind)) = reply.split_once("looks like an attack (")
        && let Some((kind, _)) = kind.split_once(')')
    {
        return format!("I did not keep that: it looks like what I never keep ({kind}).");
    }
    if !is_applied(reply) {
        let reply: String = reply.chars().take(REFUSAL).collect();
        return format!("That did not work. My memory answered: {reply}");
    }
    let calls = request.messages.iter().rev().filter_map(|body| match &**body {
        Body::Assistant { calls, .. } => calls.iter().find(|call| call.id == id),
        _ => None,
    });
    let operation = calls.take(1).find_map(|call| {
        let arguments: serde_json::Value = serde_json::from_str(&call.arguments).ok()?;
        let operation = arguments.pointer("/operations/0")?;
        let text = |key: &str| Some(operation.get(key)?.as_str()?.to_owned());
        match (text("old_text"), text("content")) {
            (Some(old), Some(new)) => Some(Operation::Replace(old, new)),
            (None, Some(new)) => Some(Operation::Add(new)),
            (old, None) => old.map(Operation::Remove),
        }
    });
    let unchanged = !reply.starts_with("Applied ");
    match operation {
        Some(Operation::Add(entry)) if unchanged => {
            format!("I knew that already: {}", to_you(&entry))
        }
        Some(Operation::Add(entry)) => format!("I will remember that. {}", to_you(&entry)),
        Some(Operation::Replace(old, new)) => {
            format!("I will remember that. {}\nUntil now I had: {}", to_you(&new), to_you(&old))
        }
        Some(Operation::Remove(entry)) => format!("Forgotten: {}", to_you(&entry)),
        None => "Done.".to_owned(),
    }
}

/// What to say to these words, or what to do instead.
fn reply(said: &str, known: &Known) -> (String, Option<(Target, Operation)>) {
    let line = match understand(said) {
        Intent::Remember(what) => return (String::new(), Some((Target::User, keep(&what, known)))),
        Intent::Forget(what) => return forget(&what, known),
        Intent::RememberWhat => {
            "What shall I remember? For example: remember that my cat is called Pixel.".to_owned()
        }
        Intent::ForgetWhat => {
            format!("Tell me what to forget, one thing at a time. {}", all(known))
        }
        Intent::AskAll => all(known),
        Intent::Ask(question) => match known.answers(&question).as_slice() {
            [] => format!(
                "I do not know that. I know only what you tell me to keep, with \"remember that …\". \
                 {WHO}\n{REAL}{}",
                unread(known)
            ),
            found => found.iter().map(|(_, entry)| to_you(entry)).collect::<Vec<_>>().join("\n"),
        },
        Intent::Tells(what) => {
            let what = what.trim_end_matches(['.', '!']);
            match keep(what, known) {
                Operation::Replace(old, _) => format!(
                    "What I have is: {} Say \"remember that {what}\" and I will change it.",
                    to_you(&old)
                ),
                _ => format!("Good to know. Say \"remember that {what}\" and I will keep it."),
            }
        }
        Intent::Greeting => format!("{HELLO} {}", help()),
        Intent::Thanks => "You are welcome.".to_owned(),
        Intent::Agrees => "All right.".to_owned(),
        Intent::Goodbye => "Goodbye. What you told me to keep stays.".to_owned(),
        Intent::HowAreYou => format!("I am well, thank you. {WHO}\n{CAN}"),
        Intent::KeepNot => "All right, I keep nothing of it.".to_owned(),
        Intent::Remind(what) => format!(
            "I cannot remind you at a time. Say \"remember to {what}\" and I will keep it, for when you \
             ask."
        ),
        Intent::Help => help(),
    };
    (line, None)
}

/// What keeping these words does: a fact that there can be only one of takes the former one's place.
fn keep(what: &str, known: &Known) -> Operation {
    let fact = fact(what);
    match known.one_like(&fact) {
        Some(old) => Operation::Replace(old.to_owned(), fact),
        None => Operation::Add(fact),
    }
}

fn forget(what: &str, known: &Known) -> (String, Option<(Target, Operation)>) {
    let line = match known.about(what).as_slice() {
        [] => format!("I found nothing like that. {}", all(known)),
        [(target, entry)] => {
            return (String::new(), Some((*target, Operation::Remove((*entry).to_owned()))));
        }
        several => {
            let several = list(several.iter().map(|(_, entry)| *entry));
            format!("Which of these shall I forget? Say it with more words.\n{several}")
        }
    };
    (line, None)
}

fn all(known: &Known) -> String {
    let mut text = match known.user.as_slice() {
        [] => "I know nothing about you yet. Say \"remember that …\" and I will.".to_owned(),
        user => {
            format!("This is what I know about you:\n{}", list(user.iter().map(String::as_str)))
        }
    };
    if known.user.is_empty() && !known.unreadable.is_empty() {
        text.clear();
    }
    if !known.notes.is_empty() {
        text.push_str("\nIn my notes:\n");
        text.push_str(&list(known.notes.iter().map(String::as_str)));
    }
    text.push_str(&unread(known));
    text.trim_start().to_owned()
}

/// What is said where a file cannot be read: nothing known is not nothing kept.
fn unread(known: &Known) -> String {
    match known.unreadable.join(" and ") {
        files if files.is_empty() => String::new(),
        files => format!(
            "\n{files} cannot be read right now, so I do not know what stands there; `atlas check` says \
             more."
        ),
    }
}

fn list<'a>(entries: impl Iterator<Item = &'a str>) -> String {
    let mut lines: Vec<String> = entries.map(|entry| format!("- {}", to_you(entry))).collect();
    if lines.len() > LISTED {
        let more = lines.len() - LISTED;
        lines.truncate(LISTED);
        lines.push(format!("- and {more} more"));
    }
    lines.join("\n")
}

fn help() -> String {
    format!("{WHO}\n{CAN}\n{REAL}")
}
