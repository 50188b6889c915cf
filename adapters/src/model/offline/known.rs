//! What the stand-in knows: the newest copies of the memory files in the request, and what its own
//! calls changed since.

use std::collections::HashMap;

use atlas_core::message::{Body, Part};
use atlas_core::ports::ModelRequest;
use serde_json::{Value, json};

/// The two files that the `memory` tool writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The profile.
    User,
    /// The bot's notes.
    Memory,
}

impl Target {
    fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Memory => "memory",
        }
    }

    fn of_path(path: &str) -> Option<Self> {
        match path {
            "memory/USER.md" => Some(Self::User),
            "memory/MEMORY.md" => Some(Self::Memory),
            path if path.starts_with("bots/") && path.ends_with("/MEMORY.md") => Some(Self::Memory),
            _ => None,
        }
    }
}

/// One operation of the `memory` tool that the stand-in makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// Keep this entry.
    Add(String),
    /// Let this entry go.
    Remove(String),
    /// Put the second entry in the place of the first.
    Replace(String, String),
}

/// The entries of both files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) user: Vec<String>,
    pub(super) notes: Vec<String>,
    /// Files that are there and cannot be read now: what they hold is not known.
    pub(super) unreadable: Vec<String>,
}

impl Known {
    /// Reads a request from its beginning.
    pub(super) fn of(request: &ModelRequest) -> Self {
        let mut known = Self::default();
        let mut asked: HashMap<&str, (Target, Vec<Operation>)> = HashMap::new();
        for body in &request.messages {
            match &**body {
                Body::User { parts } => parts.iter().for_each(|part| known.read(part)),
                Body::Assistant { calls, .. } => {
                    let calls = calls.iter().filter(|call| call.name == "memory");
                    asked.extend(
                        calls.filter_map(|call| {
                            Some((call.id.as_str(), operations(&call.arguments)?))
                        }),
                    );
                }
                Body::Tool { call, text, .. } => {
                    if let Some((target, operations)) = asked.remove(call.as_str())
                        && is_applied(text)
                    {
                        operations.into_iter().for_each(|operation| known.apply(target, operation));
                    }
                }
            }
        }
        known
    }

    fn read(&mut self, part: &Part) {
        if let Part::Document { path, hash, text, .. } = part
            && let Some(target) = Target::of_path(path)
        {
            self.unreadable.retain(|other| other != path);
            if hash.is_none() && text.contains("exists but cannot be read") {
                self.unreadable.push(path.clone());
            }
            *self.list(target) = if hash.is_some() { entries(text) } else { Vec::new() };
        }
    }

    fn apply(&mut self, target: Target, operation: Operation) {
        let list = self.list(target);
        match operation {
            Operation::Add(entry) if !list.contains(&entry) => list.push(entry),
            Operation::Add(_) => {}
            Operation::Replace(old, new) => {
                self.apply(target, Operation::Remove(old));
                self.apply(target, Operation::Add(new));
            }
            Operation::Remove(piece) => {
                let place = list.iter().position(|entry| *entry == piece);
                let place = place.or_else(|| list.iter().position(|entry| entry.contains(&piece)));
                if let Some(place) = place {
                    list.remove(place);
                }
            }
        }
    }

    fn list(&mut self, target: Target) -> &mut Vec<String> {
        match target {
            Target::User => &mut self.user,
            Target::Memory => &mut self.notes,
        }
    }

    /// The entries that share the most words with the question, with their files. Empty where none
    /// shares any.
    pub(super) fn about(&self, question: &str) -> Vec<(Target, &str)> {
        let user = self.user.iter().map(|entry| (Target::User, entry.as_str()));
        let notes = self.notes.iter().map(|entry| (Target::Memory, entry.as_str()));
        let wanted = significant(question);
        let scored: Vec<(usize, (Target, &str))> =
            user.chain(notes).map(|entry| (score(&wanted, question, entry.1), entry)).collect();
        let best = scored.iter().map(|(score, _)| *score).max().unwrap_or(0);
        let found = scored.into_iter().filter(|(score, _)| best > 0 && *score == best);
        found.map(|(_, entry)| entry).collect()
    }
}

impl Known {
    /// The entries that answer a question: those it is [`about`](Self::about). One that is not about
    /// the person is answered only by an entry that holds all of its words: "who is the president of
    /// France?" is not answered by where somebody lives.
    pub(super) fn answers(&self, question: &str) -> Vec<(Target, &str)> {
        let wanted = significant(question);
        let personal = words(question).iter().any(|word| OWN_WORDS.contains(&word.as_str()));
        let mut found = self.about(question);
        found.retain(|(_, entry)| personal || score(&wanted, question, entry) >= wanted.len());
        found
    }

    /// The entry of the profile that this fact takes the place of: it says another value of what
    /// somebody has only one of.
    pub(super) fn one_like(&self, fact: &str) -> Option<&str> {
        let key = single(fact)?;
        let same = |entry: &&String| **entry != fact && single(entry).as_deref() == Some(&key);
        self.user.iter().find(same).map(String::as_str)
    }
}

const OWN_WORDS: [&str; 12] =
    ["i", "my", "me", "mine", "we", "our", "us", "i'm", "i've", "i'd", "myself", "am"];

/// What a fact gives the only value of, in lower case; None where there can be several.
fn single(fact: &str) -> Option<String> {
    const ENDS: [&str; 14] = [
        "name",
        "birthday",
        "age",
        "address",
        "email",
        "phone",
        "phone number",
        "number",
        "job",
        "colour",
        "color",
        "nickname",
        "size",
        "time zone",
    ];
    const WHOLE: [&str; 6] = [
        "user is called ",
        "user is named ",
        "user wants to be called ",
        "user lives in ",
        "user works at ",
        "user was born ",
    ];
    let fact = fact.to_lowercase().replace('’', "'");
    if fact.contains('\n') {
        return None;
    }
    if let Some(whole) = WHOLE.iter().find(|whole| fact.starts_with(**whole)) {
        return Some((*whole).to_owned());
    }
    let about = fact.strip_prefix("user's ")?;
    let at = |verb: &str| about.find(verb).map(|at| (about[..at].to_owned(), at));
    let named = [" is called ", " is named "].iter().find_map(|verb| at(verb));
    if let Some((whose, _)) = named {
        return Some(format!("{whose}'s name"));
    }
    let (whose, _) = at(" is ")?;
    let one = whose.starts_with("favourite ") || whose.starts_with("favorite ");
    let ends = |end: &str| {
        let rest = whose.strip_suffix(end);
        rest.is_some_and(|rest| !rest.ends_with(char::is_alphanumeric))
    };
    (one || ENDS.iter().any(|end| ends(end))).then_some(whose)
}

/// The arguments of a call of the `memory` tool.
pub(super) fn arguments(target: Target, operation: &Operation) -> String {
    let operation = match operation {
        Operation::Add(content) => json!({"action": "add", "content": content}),
        Operation::Remove(old_text) => json!({"action": "remove", "old_text": old_text}),
        Operation::Replace(old, new) => {
            json!({"action": "replace", "old_text": old, "content": new})
        }
    };
    json!({"target": target.name(), "operations": [operation]}).to_string()
}

/// The operations of a call: of this stand-in, or of a model that was here before it.
fn operations(arguments: &str) -> Option<(Target, Vec<Operation>)> {
    let arguments: Value = serde_json::from_str(arguments).ok()?;
    let target = match arguments.get("target")?.as_str()? {
        "user" => Target::User,
        "memory" => Target::Memory,
        _ => return None,
    };
    let bare = std::slice::from_ref(&arguments);
    let list = arguments.get("operations").and_then(Value::as_array).map_or(bare, Vec::as_slice);
    Some((target, list.iter().flat_map(operation).collect()))
}

fn operation(operation: &Value) -> Vec<Operation> {
    let text = |key: &str| operation.get(key).and_then(Value::as_str).map(str::trim);
    let removed = text("old_text").map(|text| Operation::Remove(text.to_owned()));
    let added = text("content").map(|text| Operation::Add(text.to_owned()));
    match text("action") {
        Some("add") => added.into_iter().collect(),
        Some("remove") => removed.into_iter().collect(),
        Some("replace") => match (removed, added) {
            (Some(Operation::Remove(old)), Some(Operation::Add(new))) => {
                vec![Operation::Replace(old, new)]
            }
            (removed, added) => removed.into_iter().chain(added).collect(),
        },
        _ => Vec::new(),
    }
}

/// Whether the tool's reply says that the file is as the call wanted it.
pub(super) fn is_applied(reply: &str) -> bool {
    reply.starts_with("Applied ") || reply.starts_with("Nothing to change")
}

/// The entries of a document as it is shown: below its heading, between lines of `§`.
fn entries(text: &str) -> Vec<String> {
    let body = match text.rfind("══") {
        Some(at) => text[at..].trim_start_matches('═'),
        None => text,
    };
    let mut entries = vec![String::new()];
    for line in body.lines() {
        let heading = text.len() == body.len() && entries.len() == 1 && is_heading(line);
        if line.trim() == "§" {
            entries.push(String::new());
        } else if let Some(entry) =
            entries.last_mut().filter(|entry| !(heading && entry.is_empty()))
        {
            entry.push_str(line);
            entry.push('\n');
        }
    }
    entries.iter().map(|entry| entry.trim().to_owned()).filter(|entry| !entry.is_empty()).collect()
}

/// A line above the first entry, in a heading without bars.
fn is_heading(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with(['#', '[']) || line.ends_with(':') || line.contains(".md")
}

/// Words that say nothing of what a question is about.
const EMPTY_WORDS: &str = " a about all am an and any anything are as at be been by call called can \
    could did do does for forget from had has have he her his how i i'm if in is it its know like me \
    mine my name named names of on or our please remember said she so still tell that the their them \
    they thing things this to up us user user's was we were what what's when where which who who's \
    whose why will with would you your ";

fn significant(text: &str) -> Vec<String> {
    let says = |word: &String| !EMPTY_WORDS.contains(&format!(" {word} "));
    words(text).iter().filter(|word| says(word)).map(|word| stem(word)).collect()
}

fn words(text: &str) -> Vec<String> {
    let text = text.to_lowercase().replace('’', "'");
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '\'');
    let words = words.map(|word| word.trim_matches('\'')).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

/// Without the endings that English puts on nouns and verbs.
fn stem(word: &str) -> String {
    let word = word.strip_suffix("'s").unwrap_or(word);
    // British and American spelling are one.
    let word = &word.replace("our", "or");
    for (ending, least) in [("ies", 5), ("es", 5), ("s", 4), ("ed", 5), ("e", 4)] {
        if word.chars().count() >= least
            && !word.ends_with("ss")
            && let Some(stem) = word.strip_suffix(ending)
        {
            return if ending == "ies" { format!("{stem}y") } else { stem.to_owned() };
        }
    }
    word.clone()
}

fn score(wanted: &[String], question: &str, entry: &str) -> usize {
    if wanted.is_empty() {
        let tastes = [question, entry].map(|text| words(text).iter().any(|word| is_taste(word)));
        let named = asks_for_name(question) && tells_name(entry);
        return usize::from(named || tastes == [true, true]);
    }
    let held = significant(entry);
    wanted.iter().filter(|word| held.contains(word)).count()
}

fn is_taste(word: &str) -> bool {
    matches!(word, "like" | "likes" | "love" | "loves" | "prefer" | "prefers")
}

fn asks_for_name(question: &str) -> bool {
    words(question).iter().any(|word| matches!(word.as_str(), "name" | "called" | "call"))
}

fn tells_name(entry: &str) -> bool {
    ["User's name", "User is called", "User is named", "User wants to be called", "User goes by"]
        .iter()
        .any(|begin| entry.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_from_a_document_with_any_heading() {
        let bars = "═".repeat(46);
        for text in [
            format!(
                "{bars}\nUSER PROFILE (who the user is) [9% — 132/1,375 chars]\n{bars}\nA fact.\n§\nTwo\nlines."
            ),
            "memory/USER.md, 9% full:\n\nA fact.\n§\nTwo\nlines.\n".to_owned(),
            "# Profile\nA fact.\n § \nTwo\nlines.\n§\n".to_owned(),
            "A fact.\n§\nTwo\nlines.".to_owned(),
        ] {
            assert_eq!(entries(&text), ["A fact.", "Two\nlines."], "{text}");
        }
    }

    #[test]
    fn a_new_value_takes_the_place_of_the_only_one() {
        let kept = [
            "User's cat is called Pixel.",
            "User's cat is black.",
            "User's favourite colour is blue.",
            "User's luggage is black.",
            "User lives in Porto.",
        ];
        let known =
            Known { user: kept.map(str::to_owned).into(), notes: vec![], ..Known::default() };
        for (fact, expected) in [
            ("User's cat is called Misty.", Some(kept[0])),
            ("User's cat's name is Misty.", Some(kept[0])),
            ("User's favourite colour is green.", Some(kept[2])),
            ("User lives in Lisbon.", Some(kept[4])),
            ("User's cat is called Pixel.", None),
            ("User's cat is old.", None),
            ("User's luggage is lost.", None),
            ("User's dog is called Rex.", None),
            ("User likes tea.", None),
        ] {
            assert_eq!(known.one_like(fact), expected, "{fact}");
        }
    }

    #[test]
    fn a_question_finds_the_entries_it_is_about() {
        let known = Known {
            user: [
                "User's cat is called Pixel.",
                "User lives in Porto.",
                "User prefers short answers.",
                "User's name is Ana.",
            ]
            .map(str::to_owned)
            .into(),
            notes: vec!["The office printer takes only PDF.".to_owned()],
            ..Known::default()
        };
        for (question, expected) in [
            ("what is my cat called?", vec!["User's cat is called Pixel."]),
            ("do you remember my cat's name?", vec!["User's cat is called Pixel."]),
            ("who is Pixel?", vec!["User's cat is called Pixel."]),
            ("where do I live?", vec!["User lives in Porto."]),
            ("what answers do I prefer", vec!["User prefers short answers."]),
            ("what is my name?", vec!["User's name is Ana."]),
            ("what does the printer take?", vec!["The office printer takes only PDF."]),
            ("what is my dog called?", vec![]),
            ("what?", vec![]),
            ("what do I like?", vec!["User prefers short answers."]),
            ("who is the mayor of Porto?", vec![]),
        ] {
            let found: Vec<&str> =
                known.answers(question).into_iter().map(|(_, entry)| entry).collect();
            assert_eq!(found, expected, "{question}");
        }
    }
}
