//! What an answer of the model's means for the turn: a pure reading, before anything is stored.

use crate::ports::{Answer, End, TurnNotes};
use crate::turn::markup::looks_like_a_call;

/// What is to be done with an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Store it, run its calls.
    Calls,
    /// Store and deliver it; the line, if any, is told besides.
    Final(Option<&'static str>),
    /// It says nothing: ask once more.
    AskAgain,
    /// It says a call in words: remind the model once.
    Remind,
    /// Nothing can be delivered: the person is told why.
    Nothing(&'static str),
}

/// What a model is told that wrote a call as text.
pub(crate) const REMINDER: &str = "Your last message was a tool call written as text, so nobody saw \
it and nothing was done. Call the tool itself, or answer in words.";

/// Reads an answer.
pub(crate) fn read(answer: &Answer, notes: &TurnNotes, tools: &[&str]) -> Reading {
    if !answer.calls.is_empty() {
        return Reading::Calls;
    }
    let empty = answer.text.trim().is_empty();
    match answer.end {
        End::Refusal if empty => {
            return Reading::Nothing("The model refused to answer this.");
        }
        End::ContentFilter if empty => {
            return Reading::Nothing("The provider's content filter took the answer away.");
        }
        End::Length if empty => {
            return Reading::Nothing(
                "The answer reached the model's output limit before it said anything. \
                 Ask for less at once, or raise `max_output` of the model.",
            );
        }
        _ => {}
    }
    if empty {
        return if notes.asked_again {
            Reading::Nothing("The model gave no answer, twice. Please ask again.")
        } else {
            Reading::AskAgain
        };
    }
    if looks_like_a_call(&answer.text, tools) {
        return if notes.reminded {
            Reading::Nothing(
                "The model wrote a tool call as text instead of making it, twice. \
                 Please ask again, or choose a model that can call tools.",
            )
        } else {
            Reading::Remind
        };
    }
    Reading::Final(match answer.end {
        End::Length => Some("The answer ends here: it reached the model's output limit."),
        End::ContentFilter => Some("The answer ends here: the provider's content filter cut it."),
        End::Paused => Some("The provider paused the answer here. Say \"go on\" for the rest."),
        End::Finished | End::Refusal => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Call;
    use crate::ports::Tokens;

    fn answer(text: &str, end: End) -> Answer {
        Answer {
            text: text.into(),
            calls: Vec::new(),
            blocks: None,
            end,
            tokens: Tokens::default(),
        }
    }

    #[test]
    fn every_end_has_its_own_sentence() {
        let notes = TurnNotes::default();
        let mut sentences = Vec::new();
        for end in [End::Length, End::ContentFilter, End::Paused] {
            let Reading::Final(Some(line)) = read(&answer("so far", end), &notes, &[]) else {
                panic!("an answer with text is delivered");
            };
            sentences.push(line);
        }
        for end in [End::Refusal, End::ContentFilter, End::Length] {
            let Reading::Nothing(line) = read(&answer(" ", end), &notes, &[]) else {
                panic!("an empty answer is not delivered");
            };
            sentences.push(line);
        }
        sentences.sort_unstable();
        sentences.dedup();
        assert_eq!(sentences.len(), 6);
    }

    #[test]
    fn case_80_an_empty_answer_is_asked_for_once_more_and_then_told() {
        let mut notes = TurnNotes::default();
        assert_eq!(read(&answer("\n", End::Finished), &notes, &[]), Reading::AskAgain);
        notes.asked_again = true;
        assert!(matches!(read(&answer("", End::Finished), &notes, &[]), Reading::Nothing(_)));
    }

    #[test]
    fn case_17_a_call_in_words_is_reminded_of_once_and_never_delivered() {
        let markup =
            answer("<tool_call>{\"name\":\"memory\",\"arguments\":{}}</tool_call>", End::Finished);
        let mut notes = TurnNotes::default();
        assert_eq!(read(&markup, &notes, &["memory"]), Reading::Remind);
        notes.reminded = true;
        assert!(matches!(read(&markup, &notes, &["memory"]), Reading::Nothing(_)));
    }

    #[test]
    fn calls_come_before_everything() {
        let mut with_calls = answer("I will", End::Length);
        with_calls.calls.push(Call {
            id: "a".into(),
            name: "memory".into(),
            arguments: "{".into(),
        });
        assert_eq!(read(&with_calls, &TurnNotes::default(), &[]), Reading::Calls);
    }
}
