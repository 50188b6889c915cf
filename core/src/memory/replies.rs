//! What the `memory` tool answers, word for word (the Atlas page, *How the agent writes it*).

use crate::change::Target;
use crate::memory::entries::{JOINT_CHARS, fill, thousands};

/// The closing line of a write, literal.
const SAVED: &str = "Write saved. This update is complete — do not repeat it.";

/// How full a file is, as replies say it: `memory: 4% — 106/2,200 chars, 2 entries.`
pub(super) fn state(target: Target, chars: usize, entries: usize) -> String {
    let noun = if entries == 1 { "entry" } else { "entries" };
    format!("{}: {}, {entries} {noun}.", target.name(), fill(chars, target.limit()))
}

/// A write that was made.
pub(super) fn applied(operations: usize, state: &str, notes: &[String]) -> String {
    let mut lines = vec![format!("Applied {operations} operation(s). {state}")];
    lines.extend_from_slice(notes);
    lines.push(SAVED.to_owned());
    lines.join("\n")
}

/// A call that asked for what is there already.
pub(super) fn unchanged(state: &str, notes: &[String]) -> String {
    let mut lines = vec![format!("Nothing to change. {state}")];
    lines.extend_from_slice(notes);
    lines.push("The file says what you wanted: this is complete — do not repeat it.".to_owned());
    lines.join("\n")
}

/// A call that was refused whole.
pub(super) fn refused(why: &str) -> String {
    format!("Refused; nothing was changed. {why}")
}

/// An entry as a model may read it, and its length in the file.
pub(super) struct Listed<'a> {
    pub(super) shown: &'a str,
    pub(super) chars: usize,
}

/// The result would not fit. `before` and `after` are lengths of the entries joined.
pub(super) fn over(target: Target, before: usize, after: usize, current: &[Listed<'_>]) -> String {
    let limit = target.limit();
    let excess = after.saturating_sub(limit);
    let mut text = format!(
        "The result would be {} of {} chars: {} too many. {} now: {}, {} free.",
        thousands(after),
        thousands(limit),
        thousands(excess),
        target.name(),
        fill(before, limit),
        thousands(limit.saturating_sub(before)),
    );
    if current.is_empty() {
        text.push_str("\nIt is empty: say it shorter.");
        return refused(&text);
    }
    text.push_str("\nCurrent entries:");
    for (index, entry) in current.iter().enumerate() {
        text.push_str(&format!(
            "\n{}. ({} chars) {}",
            index + 1,
            thousands(entry.chars),
            entry.shown
        ));
    }
    text.push_str(&format!(
        "\nAt least {} chars must go. {}Shorten or remove stale entries and add the new one in one \
         call: its operations are applied together, and only the result is measured.",
        thousands(excess),
        enough_alone(current, excess),
    ));
    refused(&text)
}

/// Which entries would each be enough if it went.
fn enough_alone(current: &[Listed<'_>], excess: usize) -> String {
    let numbers: Vec<String> = current
        .iter()
        .enumerate()
        .filter(|(_, entry)| entry.chars + JOINT_CHARS >= excess)
        .map(|(index, _)| (index + 1).to_string())
        .collect();
    match numbers.as_slice() {
        [] => "No single entry is enough. ".to_owned(),
        [one] => format!("Removing entry {one} would be enough. "),
        many if many.len() == current.len() => {
            "Removing any one entry would be enough. ".to_owned()
        }
        many => format!("Removing any one of entries {} would be enough. ", many.join(", ")),
    }
}

/// The file holds an entry larger than the whole limit: it is left alone until a person mends it.
pub(super) fn oversize(path: &str, chars: usize, limit: usize, copy: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    format!(
        "Refusing to write {file}: it holds an entry larger than the whole store's char limit ({} of \
         {}), probably text that was added by hand without § lines. Nothing was changed. A copy is at \
         {copy}. Ask the owner to split the text of {path} into entries separated by lines that hold \
         only §, or to move the extra out; then you can write again. Only an add that fits beside the \
         other entries goes through until then.",
        thousands(chars),
        thousands(limit),
    )
}
