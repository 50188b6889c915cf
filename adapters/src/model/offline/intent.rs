//! What a person wants of the stand-in, out of plain English words.

/// What somebody wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Intent {
    /// Something to keep, in their words.
    Remember(String),
    /// Something to keep, without saying what.
    RememberWhat,
    /// Something to let go of, in their words.
    Forget(String),
    /// Something to let go of, without saying what; or everything at once.
    ForgetWhat,
    /// What is known in all.
    AskAll,
    /// A question that memory may answer.
    Ask(String),
    /// They tell something without asking to keep it.
    Tells(String),
    /// A greeting.
    Greeting,
    /// Thanks.
    Thanks,
    /// Yes, no, all right.
    Agrees,
    /// Goodbye.
    Goodbye,
    /// How the stand-in is.
    HowAreYou,
    /// Something that they do not want kept.
    KeepNot,
    /// To be told of something at a time.
    Remind(String),
    /// Who the stand-in is, what it can do; or anything it does not understand.
    Help,
}

/// Politeness before what is meant; taken off again and again.
const POLITE: [&str; 31] = [
    "hi",
    "hello",
    "hey",
    "ok",
    "okay",
    "so",
    "well",
    "and",
    "also",
    "now",
    "atlas",
    "please",
    "can you",
    "could you",
    "would you",
    "will you",
    "i want you to",
    "i would like you to",
    "i'd like you to",
    "kindly",
    "just",
    "yes",
    "actually",
    "sorry",
    "oh",
    "wait",
    "hm",
    "i mean",
    "i meant",
    "i said",
    "correction",
];

/// Not to be kept.
const KEEP_NOT: [&str; 6] =
    ["don't remember", "do not remember", "don't save", "do not save", "don't keep", "do not keep"];

const REMIND: [&str; 2] = ["remind me to", "remind me"];

const AGREES: [&str; 15] = [
    "ok",
    "okay",
    "yes",
    "no",
    "sure",
    "fine",
    "cool",
    "got it",
    "all right",
    "alright",
    "right",
    "good",
    "yep",
    "nope",
    "i see",
];

const GOODBYES: [&str; 9] = [
    "bye",
    "bye bye",
    "goodbye",
    "good bye",
    "see you",
    "see you later",
    "good night",
    "ciao",
    "tschüss",
];

const HOW_ARE_YOU: [&str; 7] = [
    "how are you",
    "how are you doing",
    "how are you today",
    "how is it going",
    "how's it going",
    "what's up",
    "how do you do",
];

const REMEMBER: [&str; 17] = [
    "do not forget that",
    "don't forget that",
    "do not forget",
    "don't forget",
    "keep in mind that",
    "keep in mind",
    "make a note that",
    "make a note of",
    "take note that",
    "note down that",
    "note that",
    "remember this",
    "remember that",
    "remember",
    "memorize that",
    "save that",
    "save this",
];

const FORGET: [&str; 11] = [
    "forget everything about",
    "forget all about",
    "forget what i said about",
    "forget that",
    "forget about",
    "forget",
    "stop remembering that",
    "stop remembering",
    "no longer remember",
    "delete from your memory",
    "remove from your memory",
];

const ALL: [&str; 29] = [
    "what do you know",
    "what do you know about me",
    "what do you remember",
    "what do you remember about me",
    "what do you have in memory",
    "what is in your memory",
    "what's in your memory",
    "what have you kept",
    "what have you remembered",
    "what did you keep",
    "what did you remember",
    "show me your memory",
    "show your memory",
    "show me what you know",
    "tell me what you know",
    "tell me what you know about me",
    "tell me everything you know about me",
    "who am i",
    "what do you know of me",
    "what did i tell you",
    "what did i tell you about me",
    "what did i ask you to remember",
    "show my memory",
    "show memory",
    "show me my memory",
    "list everything you remember",
    "list everything you know",
    "list what you know",
    "list my facts",
];

const HELP: [&str; 16] = [
    "help",
    "/help",
    "/start",
    "who are you",
    "what are you",
    "what is this",
    "what can you do",
    "what do you do",
    "how do you work",
    "how does this work",
    "are you real",
    "are you a bot",
    "are you an ai",
    "are you human",
    "what's your name",
    "what is your name",
];

const GREETINGS: [&str; 16] = [
    "hi",
    "hello",
    "hey",
    "hi there",
    "hello there",
    "hey there",
    "good morning",
    "good afternoon",
    "good evening",
    "good day",
    "yo",
    "hallo",
    "moin",
    "olá",
    "oi",
    "salut",
];

const THANKS: [&str; 8] = [
    "thanks",
    "thank you",
    "thx",
    "thanks a lot",
    "thank you very much",
    "cheers",
    "great",
    "nice",
];

const QUESTIONS: [&str; 24] = [
    "what",
    "what's",
    "who",
    "who's",
    "whose",
    "where",
    "where's",
    "when",
    "when's",
    "which",
    "how",
    "why",
    "do you know",
    "do you remember",
    "do i",
    "am i",
    "did i",
    "have i",
    "is my",
    "are my",
    "tell me",
    "does my",
    "can i",
    "was my",
];

/// What these words want.
pub(super) fn understand(text: &str) -> Intent {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = text.trim_matches(|c: char| "\"“”„»«".contains(c) || c.is_whitespace());
    let whole = plain(text);
    if GREETINGS.contains(&strip_name(&whole)) {
        return Intent::Greeting;
    }
    if THANKS.contains(&strip_name(&whole)) {
        return Intent::Thanks;
    }
    let small_talk = [
        (&AGREES[..], Intent::Agrees),
        (&GOODBYES[..], Intent::Goodbye),
        (&HOW_ARE_YOU[..], Intent::HowAreYou),
    ];
    for (words, intent) in small_talk {
        if words.contains(&strip_name(&whole)) {
            return intent;
        }
    }
    let meant = without_politeness(without_no(text));
    let words = plain(meant);
    if HELP.contains(&words.as_str()) || words.is_empty() {
        return Intent::Help;
    }
    if ALL.contains(&words.as_str()) {
        return Intent::AskAll;
    }
    if after(meant, &KEEP_NOT).is_some() {
        return Intent::KeepNot;
    }
    if let Some(what) = after(meant, &REMIND).filter(|what| is_something(what)) {
        return Intent::Remind(what.to_owned());
    }
    if let Some(fact) = after(meant, &REMEMBER) {
        return if is_something(fact) {
            Intent::Remember(fact.to_owned())
        } else {
            Intent::RememberWhat
        };
    }
    if let Some(what) = after(meant, &FORGET) {
        let vague = ["everything", "all", "it all", "all of it", "it", "me", "this"];
        let clear = is_something(what) && !vague.contains(&plain(what).as_str());
        return if clear { Intent::Forget(what.to_owned()) } else { Intent::ForgetWhat };
    }
    if meant.ends_with('?') || after(meant, &QUESTIONS).is_some() {
        return Intent::Ask(meant.to_owned());
    }
    if after(meant, &["my", "i", "i'm", "i've", "call me"]).is_some() {
        return Intent::Tells(meant.to_owned());
    }
    Intent::Help
}

/// Lower case, with plain quotes, without what ends a sentence.
pub(super) fn plain(text: &str) -> String {
    let text = text.to_lowercase().replace(['’', '‘', 'ʼ'], "'");
    text.trim_matches(|c: char| c.is_whitespace() || ".,;:!?…\"“”„»«()".contains(c)).to_owned()
}

fn strip_name(words: &str) -> &str {
    words.strip_suffix("atlas").map_or(words, |rest| rest.trim_end_matches([' ', ',']))
}

fn is_something(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

/// A correction begins with "no,": without the comma the word belongs to what follows.
fn without_no(text: &str) -> &str {
    match after(text, &["no", "nope"]) {
        Some(rest) if !rest.is_empty() && text.contains([',', '.', '!', ';', ':', '—', '-']) => {
            let mark = text.trim_start_matches(char::is_alphabetic);
            if mark.starts_with(' ') { text } else { rest }
        }
        _ => text,
    }
}

fn without_politeness(text: &str) -> &str {
    let mut meant = text;
    while let Some(rest) = after(meant, &POLITE) {
        if rest.is_empty() {
            break;
        }
        meant = rest;
    }
    meant
}

/// What follows one of these beginnings, as words of their own and in any case. The first that fits
/// counts, so longer ones stand first.
fn after<'a>(text: &'a str, beginnings: &[&str]) -> Option<&'a str> {
    beginnings.iter().find_map(|beginning| {
        let mut rest = text.char_indices();
        for expected in beginning.chars() {
            let (_, c) = rest.next()?;
            let c = if matches!(c, '’' | '‘' | 'ʼ') { '\'' } else { c };
            if !c.to_lowercase().eq(expected.to_lowercase()) {
                return None;
            }
        }
        let rest = rest.as_str();
        let ends = rest.chars().next().is_none_or(|c| !c.is_alphanumeric() && c != '\'');
        let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || ",.:;!-–—".contains(c));
        ends.then_some(rest)
    })
}

#[cfg(test)]
mod tests {
    use super::Intent::*;
    use super::*;

    #[test]
    fn plain_words_are_understood() {
        let some = str::to_owned;
        for (text, expected) in [
            ("remember that my cat is called Pixel", Remember(some("my cat is called Pixel"))),
            ("Hi Atlas, could you please remember: I prefer tea.", Remember(some("I prefer tea."))),
            ("Don’t forget that I live in Porto!", Remember(some("I live in Porto!"))),
            ("remember", RememberWhat),
            ("Remember this: …", RememberWhat),
            ("forget my cat", Forget(some("my cat"))),
            ("Please forget that I prefer tea", Forget(some("I prefer tea"))),
            ("forget everything", ForgetWhat),
            ("forget everything about my cat", Forget(some("my cat"))),
            ("What do you know about me?", AskAll),
            ("what do you remember?", AskAll),
            ("what is my cat called?", Ask(some("what is my cat called?"))),
            ("do you remember my cat's name", Ask(some("do you remember my cat's name"))),
            ("Do you know where I live?", Ask(some("Do you know where I live?"))),
            ("my name is Ana", Tells(some("my name is Ana"))),
            ("No, my cat is called Misty", Tells(some("my cat is called Misty"))),
            ("actually, my name is Bo.", Tells(some("my name is Bo."))),
            ("no longer remember my cat", Forget(some("my cat"))),
            ("\"remember that I like tea\"", Remember(some("I like tea"))),
            ("Sorry, I meant: remember that I like tea", Remember(some("I like tea"))),
            ("don't remember this: I am tired", KeepNot),
            ("remind me to buy milk", Remind(some("buy milk"))),
            ("show my memory!", AskAll),
            ("ok.", Agrees),
            ("no", Agrees),
            ("Bye, Atlas!", Goodbye),
            ("How are you?", HowAreYou),
            ("Hello!", Greeting),
            ("Good morning, Atlas.", Greeting),
            ("thank you", Thanks),
            ("help", Help),
            ("Who are you?", Help),
            ("colourless green ideas", Help),
            ("rememberable things", Help),
            ("", Help),
            ("🎉🎉", Help),
            ("hi hi hi", Help),
        ] {
            assert_eq!(understand(text), expected, "{text:?}");
        }
    }
}
