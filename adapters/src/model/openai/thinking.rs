//! Parts reasoning from the answer where a server sends it inside the text, in a `<think>` block at
//! its start. Nobody is shown reasoning; the stored message keeps it as it came.

const TAGS: [(&str, &str); 2] = [("<think>", "</think>"), ("<thinking>", "</thinking>")];

/// Reads an answer's text in pieces and lets the answer through.
#[derive(Debug)]
pub(super) enum Thinking {
    /// Nothing but white space and a piece of a tag so far.
    Start(String),
    /// Inside the block: the end of what was read, and the tag that closes it.
    Inside(String, &'static str),
    /// After the block, before the answer's first character.
    After,
    /// The answer.
    Answer,
}

impl Thinking {
    pub(super) fn new() -> Self {
        Self::Start(String::new())
    }

    /// What of this piece, and of what was held back, is answer.
    pub(super) fn push(&mut self, piece: &str) -> String {
        match self {
            Self::Answer => piece.to_owned(),
            Self::After => {
                let answer = piece.trim_start();
                if !answer.is_empty() {
                    *self = Self::Answer;
                }
                answer.to_owned()
            }
            Self::Inside(tail, close) => {
                tail.push_str(piece);
                if let Some(at) = tail.find(*close) {
                    let rest = tail[at + close.len()..].to_owned();
                    *self = Self::After;
                    return self.push(&rest);
                }
                let keep = tail.len().saturating_sub(close.len());
                let keep = (keep..=tail.len()).find(|at| tail.is_char_boundary(*at));
                tail.drain(..keep.unwrap_or(0));
                String::new()
            }
            Self::Start(held) => {
                held.push_str(piece);
                let begin = held.trim_start();
                if let Some((open, close)) = TAGS.iter().find(|(open, _)| begin.starts_with(open)) {
                    let rest = begin[open.len()..].to_owned();
                    *self = Self::Inside(String::new(), close);
                    return self.push(&rest);
                }
                if TAGS.iter().any(|(open, _)| open.starts_with(begin)) {
                    return String::new();
                }
                let answer = std::mem::take(held);
                *self = Self::Answer;
                answer
            }
        }
    }

    /// What was held back and turned out to be answer.
    pub(super) fn finish(self) -> String {
        match self {
            Self::Start(held) if !held.trim().is_empty() => held,
            _ => String::new(),
        }
    }
}

/// The answer behind reasoning whose opening tag the server's template had written: the closing tag
/// stands alone on a line, and no opening one before it.
pub(super) fn after_stray_close(text: &str) -> &str {
    for (open, close) in TAGS {
        let Some(at) = text.find(close) else { continue };
        let (before, after) = (&text[..at], &text[at + close.len()..]);
        let alone = (before.is_empty() || before.ends_with('\n'))
            && (after.is_empty() || after.starts_with(['\n', '\r']));
        if alone && !before.contains(open) && !before.contains("```") {
            return after.trim_start();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn answer(pieces: &[&str]) -> String {
        let mut thinking = Thinking::new();
        let mut text: String = pieces.iter().map(|piece| thinking.push(piece)).collect();
        text.push_str(&thinking.finish());
        text
    }

    #[test]
    fn a_block_at_the_start_is_no_answer() {
        for (text, expected) in [
            ("<think>hm\n</think>\n\nHello.", "Hello."),
            ("\n<thinking>hm</thinking>Hello.", "Hello."),
            ("<think></think>", ""),
            ("<think>never closed", ""),
            ("Hello <think>a</think>.", "Hello <think>a</think>."),
            ("<thin ice>", "<thin ice>"),
            ("<thi", "<thi"),
            ("  ", ""),
            ("  a", "  a"),
        ] {
            assert_eq!(answer(&[text]), expected, "{text:?}");
        }
    }

    #[test]
    fn a_closing_tag_alone_on_its_line_ends_reasoning_that_the_template_opened() {
        for (text, expected) in [
            ("I wonder.\n</think>\n\nHello.", "Hello."),
            ("</think>\nHello.", "Hello."),
            ("The tag `</think>` closes it.", "The tag `</think>` closes it."),
            ("```\n</think>\n```", "```\n</think>\n```"),
            ("Hello.", "Hello."),
        ] {
            assert_eq!(after_stray_close(text), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn it_does_not_matter_where_the_text_is_cut(
            text in "(\n?<think>[ab<é/]{0,6}(</think>)?)?[ \n]{0,2}[a<é]{0,5}"
        ) {
            let whole = answer(&[&text]);
            for (at, _) in text.char_indices() {
                let (before, after) = text.split_at(at);
                prop_assert_eq!(&answer(&[before, after]), &whole);
            }
            let single: Vec<String> = text.chars().map(String::from).collect();
            let single: Vec<&str> = single.iter().map(String::as_str).collect();
            prop_assert_eq!(&answer(&single), &whole);
        }
    }
}
