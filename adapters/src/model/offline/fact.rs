//! Turns what a person says of themselves into a fact about them, and a fact back into an answer.
//! English, by rules; what no rule fits stays as it was said.

/// Words between `I` and its verb.
const ADVERBS: [&str; 18] = [
    "always",
    "usually",
    "really",
    "never",
    "also",
    "just",
    "only",
    "still",
    "often",
    "mostly",
    "sometimes",
    "rarely",
    "hardly",
    "generally",
    "absolutely",
    "strongly",
    "now",
    "currently",
];

/// Verbs that are the same for everybody: modals, and past forms that do not end in -ed.
const SAME: [&str; 50] = [
    "can",
    "can't",
    "cannot",
    "could",
    "couldn't",
    "will",
    "won't",
    "would",
    "wouldn't",
    "should",
    "shouldn't",
    "must",
    "mustn't",
    "may",
    "might",
    "was",
    "wasn't",
    "had",
    "did",
    "didn't",
    "got",
    "went",
    "came",
    "grew",
    "made",
    "saw",
    "met",
    "bought",
    "lost",
    "left",
    "felt",
    "kept",
    "knew",
    "wrote",
    "began",
    "broke",
    "chose",
    "drove",
    "fell",
    "found",
    "gave",
    "heard",
    "led",
    "learnt",
    "said",
    "sold",
    "spent",
    "taught",
    "told",
    "took",
];

/// A short form, and what it is in the third person.
const SHORT: [(&str, &str); 12] = [
    ("i'm", "is"),
    ("i’m", "is"),
    ("im", "is"),
    ("i've", "has"),
    ("i’ve", "has"),
    ("i'd", "would"),
    ("i’d", "would"),
    ("i'll", "will"),
    ("i’ll", "will"),
    ("i am", "is"),
    ("i have", "has"),
    ("i do", "does"),
];

/// Words that a new clause begins after: `the user` behind one of them does something.
const CLAUSE: [&str; 20] = [
    "and", "but", "or", "because", "that", "when", "if", "where", "who", "while", "so", "since",
    "what", "which", "before", "after", "until", "than", "how", "why",
];

/// Words that may follow `the user` where something is done to them.
const BEHIND: [&str; 24] = [
    "and", "or", "but", "to", "in", "at", "on", "for", "with", "about", "from", "by", "every",
    "when", "because", "if", "a", "an", "the", "as", "of", "not", "after", "before",
];

/// Beginnings of an order. Kept as an order it would command every later turn.
const ORDERS: [(&str, &str); 8] = [
    ("always", "always "),
    ("never", "never "),
    ("don't", "not "),
    ("don’t", "not "),
    ("do not", "not "),
    ("please", ""),
    ("only", "only "),
    ("to always", "always "),
];

/// What a person said as a fact about them: `User's cat is called Pixel.`
pub(super) fn fact(said: &str) -> String {
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = said.trim_matches(|c: char| c.is_whitespace() || "\"“”„»«".contains(c));
    let said = said.trim_end_matches(['.', '!', '?', '…', ',', ';']).trim();
    let said = said.strip_prefix("that ").unwrap_or(said);
    if let Some(name) = strip(said, "call me") {
        return sentence(&format!("User wants to be called {name}"));
    }
    if let Some(wish) = ORDERS.iter().find_map(|(begin, mark)| {
        strip(said, begin).map(|rest| format!("{mark}{}", third_person(rest, false)))
    }) {
        let wish =
            wish.strip_prefix("not ").map_or(format!("to {wish}"), |rest| format!("not to {rest}"));
        return sentence(&format!("User would like the bot {wish}"));
    }
    if let Some(errand) = strip(said, "to") {
        return sentence(&format!("User wants to {}", third_person(errand, false)));
    }
    sentence(&third_person(said, true))
}

/// The fact as it is said to the person: `Your cat is called Pixel.` What no rule fits stays as it
/// stands.
pub(super) fn to_you(fact: &str) -> String {
    let words: Vec<&str> = fact.split(' ').collect();
    let mut out: Vec<String> = Vec::with_capacity(words.len());
    let mut at = 0;
    while at < words.len() {
        at += match person(&words[at..], at == 0) {
            Some((taken, stop)) => taken + you(&words, at, taken, stop, &mut out),
            None => {
                out.push(words[at].replace("themselves", "yourself"));
                1
            }
        };
    }
    out.join(" ")
}

/// Whether these words begin with the person: how many words that is, and what follows the name:
/// `'s`, a mark of the sentence, or nothing.
fn person<'a>(words: &[&'a str], start: bool) -> Option<(usize, &'a str)> {
    if start && let Some(stop) = words.first()?.strip_prefix("User") {
        return is_stop(stop).then_some((1, stop));
    }
    let stop = words.get(1)?.strip_prefix("user")?;
    (words[0].eq_ignore_ascii_case("the") && is_stop(stop)).then_some((2, stop))
}

fn is_stop(stop: &str) -> bool {
    matches!(stop, "" | "'s" | "’s" | "." | "," | ";" | ":" | "!" | "?")
}

/// Puts `you` where `taken` words of the person stand. Gives how many words behind them went along.
fn you(words: &[&str], at: usize, taken: usize, stop: &str, out: &mut Vec<String>) -> usize {
    let big = words[at].starts_with(char::is_uppercase);
    if stop.ends_with("'s") || stop.ends_with("’s") {
        out.push(if big { "Your" } else { "your" }.to_owned());
        return 0;
    }
    let name = if big { "You" } else { "you" };
    let rest = &words[at + taken..];
    let before = at.checked_sub(1).map(|before| words[before]);
    let begins = before.is_none_or(|word| {
        word.ends_with([',', ';', ':', '.']) || CLAUSE.contains(&word.to_lowercase().as_str())
    });
    let is_object = rest.first().is_none_or(|next| BEHIND.contains(&next.to_lowercase().as_str()));
    if !stop.is_empty() || is_object {
        out.push(format!("{name}{stop}"));
        return 0;
    }
    let adverbs = rest.iter().take_while(|word| ADVERBS.contains(word)).count();
    let verb = rest.get(adverbs).copied().unwrap_or_default();
    let (verb, mark) = verb.split_at(verb.trim_end_matches(['.', ',', '!', ';']).len());
    if !begins || !is_verb(verb) {
        // `the user table` is none of it.
        out.push(words[at..at + taken].join(" "));
        return 0;
    }
    out.push(name.to_owned());
    out.extend(rest[..adverbs].iter().map(|word| (*word).to_owned()));
    out.push(format!("{}{mark}", second_person(verb)));
    adverbs + 1
}

/// Whether it can be what somebody does or did.
fn is_verb(word: &str) -> bool {
    SAME.contains(&word) || ["s", "ed", "n't", "n’t"].iter().any(|end| word.ends_with(end))
}

/// The text with every word for oneself replaced. `start`: it begins the sentence.
fn third_person(text: &str, start: bool) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let mut out: Vec<String> = Vec::with_capacity(words.len());
    let mut at = 0;
    while at < words.len() {
        let first = start && out.is_empty();
        if is_i(words[at]) || short_form(words[at]).is_some() {
            at += subject(&words[at..], first, &mut out);
        } else {
            out.push(other_word(words[at], first));
            at += 1;
        }
    }
    out.join(" ")
}

/// `I` and what follows it up to its verb. Gives how many words that was.
fn subject(words: &[&str], start: bool, out: &mut Vec<String>) -> usize {
    out.push(if start { "User" } else { "the user" }.to_owned());
    if let Some(third) = short_form(words[0]) {
        out.push(third.to_owned());
        return 1;
    }
    let mut taken = 1;
    while words.get(taken).is_some_and(|word| ADVERBS.contains(&word.to_lowercase().as_str())) {
        out.push(words[taken].to_owned());
        taken += 1;
    }
    let Some(verb) = words.get(taken) else { return taken };
    let long = SHORT.iter().find(|(form, _)| form.strip_prefix("i ") == Some(&verb.to_lowercase()));
    out.push(long.map_or_else(|| third_person_verb(verb), |(_, third)| (*third).to_owned()));
    taken + 1
}

fn is_i(word: &str) -> bool {
    word == "I" || word == "i"
}

fn short_form(word: &str) -> Option<&'static str> {
    let word = word.to_lowercase();
    SHORT.iter().find(|(form, _)| *form == word).map(|(_, third)| *third)
}

/// `my`, `me`, `mine`, `myself`, with the marks around them; any other word as it is.
fn other_word(word: &str, start: bool) -> String {
    let core = word.trim_matches(|c: char| !c.is_alphanumeric());
    let new = match core.to_lowercase().as_str() {
        "my" if start => "User's",
        "my" | "mine" => "the user's",
        "me" => "the user",
        "myself" => "themselves",
        _ => return word.to_owned(),
    };
    word.replacen(core, new, 1)
}

fn third_person_verb(verb: &str) -> String {
    let (core, stop) = verb.split_at(verb.trim_end_matches(|c: char| !c.is_alphanumeric()).len());
    let lower = core.to_lowercase();
    let new = match lower.as_str() {
        "don't" | "don’t" => "doesn't".to_owned(),
        "haven't" | "haven’t" => "hasn't".to_owned(),
        word if SAME.contains(&word) || word.ends_with("ed") && word.len() > 4 => core.to_owned(),
        word if ["s", "x", "z", "ch", "sh", "o"].iter().any(|end| word.ends_with(end)) => {
            format!("{core}es")
        }
        word if word.ends_with('y') && !ends_in_vowel(&word[..word.len() - 1]) => {
            format!("{}ies", &core[..core.len() - 1])
        }
        word if word.chars().all(char::is_alphabetic) && !word.is_empty() => format!("{core}s"),
        _ => core.to_owned(),
    };
    new + stop
}

fn second_person(verb: &str) -> String {
    match verb {
        "is" => "are".to_owned(),
        "has" => "have".to_owned(),
        "was" => "were".to_owned(),
        "does" => "do".to_owned(),
        "doesn't" => "don't".to_owned(),
        "hasn't" => "haven't".to_owned(),
        _ if SAME.contains(&verb) || verb.ends_with("ss") => verb.to_owned(),
        _ => match verb {
            _ if verb.len() > 4 && verb.ends_with("ies") => format!("{}y", &verb[..verb.len() - 3]),
            _ if ["sses", "xes", "zzes", "ches", "shes", "oes"]
                .iter()
                .any(|end| verb.ends_with(end)) =>
            {
                verb[..verb.len() - 2].to_owned()
            }
            _ => verb.strip_suffix('s').unwrap_or(verb).to_owned(),
        },
    }
}

fn ends_in_vowel(text: &str) -> bool {
    text.ends_with(['a', 'e', 'i', 'o', 'u'])
}

/// The text without this beginning, which must end with its word.
fn strip<'a>(text: &'a str, beginning: &str) -> Option<&'a str> {
    let head = text.get(..beginning.len())?;
    let rest = text[beginning.len()..].strip_prefix(' ')?;
    head.eq_ignore_ascii_case(beginning).then_some(rest.trim_start())
}

/// With a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
    let stop = if text.ends_with(['.', '!', '?', '…']) { "" } else { "." };
    format!("{first}{}{stop}", chars.as_str())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_said_becomes_a_fact_and_an_answer() {
        for (said, kept, told) in [
            ("my cat is called Pixel", "User's cat is called Pixel.", "Your cat is called Pixel."),
            ("I prefer tea.", "User prefers tea.", "You prefer tea."),
            ("i'm a designer", "User is a designer.", "You are a designer."),
            (
                "I have two kids and I love them",
                "User has two kids and the user loves them.",
                "You have two kids and you love them.",
            ),
            (
                "I live in Porto with my cat",
                "User lives in Porto with the user's cat.",
                "You live in Porto with your cat.",
            ),
            (
                "I really like short answers",
                "User really likes short answers.",
                "You really like short answers.",
            ),
            ("I was born in 1990", "User was born in 1990.", "You were born in 1990."),
            ("I moved to Porto", "User moved to Porto.", "You moved to Porto."),
            ("I study law", "User studies law.", "You study law."),
            ("I watch birds", "User watches birds.", "You watch birds."),
            ("I don't eat meat", "User doesn't eat meat.", "You don't eat meat."),
            ("I can't swim", "User can't swim.", "You can't swim."),
            (
                "the office is closed on Mondays",
                "The office is closed on Mondays.",
                "The office is closed on Mondays.",
            ),
            ("Bo is my brother", "Bo is the user's brother.", "Bo is your brother."),
            ("Bo calls me every day", "Bo calls the user every day.", "Bo calls you every day."),
            ("Bo likes me", "Bo likes the user.", "Bo likes you."),
            (
                "my cat bites when I am asleep, and I mind",
                "User's cat bites when the user is asleep, and the user minds.",
                "Your cat bites when you are asleep, and you mind.",
            ),
            ("I like tea?", "User likes tea.", "You like tea."),
            ("the user table is big", "The user table is big.", "The user table is big."),
            ("call me Ana", "User wants to be called Ana.", "You want to be called Ana."),
            (
                "always answer in English",
                "User would like the bot to always answer in English.",
                "You would like the bot to always answer in English.",
            ),
            (
                "don't use emoji",
                "User would like the bot not to use emoji.",
                "You would like the bot not to use emoji.",
            ),
            (
                "to water my plants",
                "User wants to water the user's plants.",
                "You want to water your plants.",
            ),
            ("“I go  by bike!”", "User goes by bike.", "You go by bike."),
        ] {
            assert_eq!(fact(said), kept, "{said:?}");
            assert_eq!(to_you(kept), told, "{kept:?}");
        }
    }

    proptest! {
        #[test]
        fn no_words_make_it_fail(said in "([Ii]'?m?|my|me|[A-Za-zé’'.]{0,6}|😀| ){0,8}", any in any::<String>()) {
            for text in [said, any] {
                prop_assert!(fact(&text).lines().count() <= 1);
                to_you(&text);
                to_you(&fact(&text));
            }
        }
    }
}
