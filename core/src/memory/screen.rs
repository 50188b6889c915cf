//! Screening: what must not come into memory, and what must not come out of it into a prompt.
//!
//! A pattern cannot understand a text, so this stops the known shapes of an attack and lets ordinary
//! text of any language pass; what it cannot see is kept small by who may write at all
//! ([`authorise`](crate::authorise)). Refusals name the kind and never repeat the text.

mod invisible;
mod patterns;

use std::fmt;

/// What a text looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Orders to the model that pretend to come from above.
    Injection,
    /// Characters that a person does not see, or that turn what they see around.
    Invisible,
    /// Sending secrets out.
    Exfiltration,
    /// A password, key or token itself.
    Secret,
    /// A way in by SSH.
    Backdoor,
    /// An edit to the agent's own configuration.
    OwnConfiguration,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 6] = [
        Self::Injection,
        Self::Invisible,
        Self::Exfiltration,
        Self::Secret,
        Self::Backdoor,
        Self::OwnConfiguration,
    ];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Injection => "prompt injection",
            Self::Invisible => "invisible characters",
            Self::Exfiltration => "sending secrets out",
            Self::Secret => "hard-coded secret",
            Self::Backdoor => "SSH back door",
            Self::OwnConfiguration => "edit to own configuration",
        })
    }
}

/// What a text looks like, None for ordinary text.
#[must_use]
pub fn screen(text: &str) -> Option<Kind> {
    if invisible::found(text) {
        return Some(Kind::Invisible);
    }
    patterns::found(text)
}

/// What stands for the `number`th blocked passage of a file, wherever a model can read it.
#[must_use]
pub fn placeholder(kind: Kind, number: usize) -> String {
    format!("[BLOCKED: {kind} #{number}]")
}

/// Passages of one file as a model may read them: those that look like an attack by placeholder,
/// numbered in their order.
#[must_use]
pub fn shown<'a>(passages: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut blocked = 0;
    passages
        .into_iter()
        .map(|passage| match screen(passage) {
            None => passage.to_owned(),
            Some(kind) => {
                blocked += 1;
                placeholder(kind, blocked)
            }
        })
        .collect()
}

/// A free Markdown text as a model may read it: paragraphs and list items that look like an attack by
/// placeholder. Everything else stays byte for byte.
#[must_use]
pub fn shown_markdown(text: &str) -> String {
    let passages = passages(text);
    let shown = shown(passages.iter().map(|(passage, _)| *passage));
    shown.iter().zip(&passages).map(|(shown, (_, gap))| format!("{shown}{gap}")).collect()
}

/// Paragraphs and list items, each with the line ends that follow it.
fn passages(text: &str) -> Vec<(&str, &str)> {
    let mut starts = vec![0];
    let mut blank_before = false;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let blank = line.trim().is_empty();
        if at > 0 && !blank && (blank_before || begins_item(line)) {
            starts.push(at);
        }
        blank_before = blank;
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().zip(ends).map(|(&start, end)| split_gap(&text[start..end])).collect()
}

fn split_gap(passage: &str) -> (&str, &str) {
    passage.split_at(passage.trim_end().len())
}

fn begins_item(line: &str) -> bool {
    let line = line.trim_start();
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered =
        digits.len() < line.len() && (digits.starts_with(". ") || digits.starts_with(") "));
    numbered || ["- ", "* ", "+ ", "#"].iter().any(|mark| line.starts_with(mark))
}

#[cfg(test)]
mod tests;
