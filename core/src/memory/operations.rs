//! What operations would make of a bounded file's text. Pure: nothing is read or written here.
//!
//! All operations work on a copy, all or none, and the limit is checked on the result.

use crate::change::{Operation, Target};
use crate::memory::entries::{Entries, clean, holds_separator, joined_chars};
use crate::memory::matching::{Found, find};
use crate::memory::replies::{self, Listed};
use crate::memory::screen::{self, screen};

/// What would come of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The file's new text, and what the caller is told when it stands.
    Write {
        /// The whole new text.
        after: String,
        /// The reply.
        reply: String,
    },
    /// The file holds already what was asked for.
    Unchanged {
        /// The reply.
        reply: String,
    },
    /// Not like this.
    Refused {
        /// Why, and how it can be done.
        reply: String,
    },
    /// The file holds an entry larger than the whole limit and is left alone.
    Oversize {
        /// The length of that entry.
        chars: usize,
    },
}

/// Works out what the operations would make of a text; None is a missing file.
#[must_use]
pub fn apply(target: Target, text: Option<&str>, operations: &[Operation]) -> Outcome {
    let entries = Entries::parse(text.unwrap_or_default());
    let mut draft = Draft::of(&entries);
    let refused = |why: &str| Outcome::Refused { reply: replies::refused(why) };
    if operations.is_empty() {
        return refused("The call holds no operation.");
    }
    if let Err(why) = check_contents(operations) {
        return refused(&why);
    }
    let limit = target.limit();
    let oversize = draft.items.iter().map(|item| item.chars()).find(|&chars| chars > limit);
    if let Some(chars) = oversize
        && !fits_beside(&draft, operations, limit)
    {
        return Outcome::Oversize { chars };
    }
    let mut changed = 0;
    for (index, operation) in operations.iter().enumerate() {
        match draft.take(index + 1, operation) {
            Ok(true) => changed += 1,
            Ok(false) => {}
            Err(why) => return refused(&why),
        }
    }
    let (before, after) = (entries.chars(), draft.entries());
    if oversize.is_none() && after.chars() > limit && after.chars() >= before {
        return Outcome::Refused { reply: over(target, &entries, after.chars()) };
    }
    let state = replies::state(target, after.chars(), after.as_slice().len());
    if changed == 0 {
        return Outcome::Unchanged { reply: replies::unchanged(&state, &draft.notes) };
    }
    let reply = replies::applied(changed, &state, &draft.notes);
    Outcome::Write { after: after.render(), reply }
}

/// What can be said against the new texts alone, whatever the file holds. A text that is refused is
/// not repeated: it may hold a secret.
///
/// # Errors
///
/// Why, for the model.
pub fn check_contents(operations: &[Operation]) -> Result<(), String> {
    for (index, operation) in operations.iter().enumerate() {
        let number = index + 1;
        let Some(content) = operation.content() else { continue };
        if clean(content).is_empty() {
            return Err(format!("Operation {number} has no content."));
        }
        if holds_separator(content) {
            return Err(format!(
                "The content of operation {number} holds a line of only §, which separates entries. \
                 Write each entry with an operation of its own."
            ));
        }
        if let Some(kind) = screen(content) {
            return Err(format!(
                "The content of operation {number} looks like an attack ({kind}) and does not go into \
                 memory. Say the fact in plain words, without that; a secret is never kept here."
            ));
        }
    }
    Ok(())
}

/// Whether only additions are asked for that fit together with the well-formed entries.
fn fits_beside(draft: &Draft, operations: &[Operation], limit: usize) -> bool {
    let kept = draft.items.iter().map(Item::chars).filter(|&chars| chars <= limit);
    let added =
        operations.iter().filter_map(Operation::content).map(|text| clean(text).chars().count());
    operations.iter().all(Operation::is_addition) && joined_chars(kept.chain(added)) <= limit
}

fn over(target: Target, entries: &Entries, after: usize) -> String {
    let shown = screen::shown(entries.as_slice().iter().map(String::as_str));
    let listed: Vec<Listed<'_>> = shown
        .iter()
        .zip(entries.as_slice())
        .map(|(shown, entry)| Listed { shown, chars: entry.chars().count() })
        .collect();
    replies::over(target, entries.chars(), after, &listed)
}

/// One entry of the copy.
struct Item {
    text: String,
    /// What a model reads: the text itself, or its placeholder, numbered before the first operation.
    shown: String,
}

impl Item {
    fn chars(&self) -> usize {
        self.text.chars().count()
    }
}

/// The copy that operations work on.
struct Draft {
    items: Vec<Item>,
    /// What is said of single operations in the reply.
    notes: Vec<String>,
}

impl Draft {
    fn of(entries: &Entries) -> Self {
        let shown = screen::shown(entries.as_slice().iter().map(String::as_str));
        let items = entries
            .as_slice()
            .iter()
            .zip(shown)
            .map(|(text, shown)| Item { text: text.clone(), shown })
            .collect();
        Self { items, notes: Vec::new() }
    }

    fn entries(&self) -> Entries {
        Entries::of(self.items.iter().map(|item| item.text.clone()).collect())
    }

    /// Takes one operation in. False where it changed nothing.
    fn take(&mut self, number: usize, operation: &Operation) -> Result<bool, String> {
        match operation {
            Operation::Add { content } => Ok(self.add(number, clean(content))),
            Operation::Replace { old_text, content } => {
                let at = self.locate(number, old_text)?;
                Ok(self.replace(number, at, clean(content)))
            }
            Operation::Remove { old_text } => {
                let at = self.locate(number, old_text)?;
                let gone = self.items.remove(at);
                self.notes.push(format!("Removed by operation {number}: {}", gone.shown));
                Ok(true)
            }
        }
    }

    fn add(&mut self, number: usize, content: String) -> bool {
        if self.items.iter().any(|item| item.text == content) {
            self.notes
                .push(format!("Operation {number} added nothing: that entry is already there."));
            return false;
        }
        self.items.push(Item { shown: content.clone(), text: content });
        true
    }

    fn replace(&mut self, number: usize, at: usize, content: String) -> bool {
        if self.items[at].text == content {
            self.notes
                .push(format!("Operation {number} changed nothing: the entry says that already."));
            return false;
        }
        self.notes.push(format!("Overwritten by operation {number}: {}", self.items[at].shown));
        if self.items.iter().any(|item| item.text == content) {
            self.items.remove(at);
        } else {
            self.items[at] = Item { shown: content.clone(), text: content };
        }
        true
    }

    fn locate(&self, number: usize, old_text: &str) -> Result<usize, String> {
        let wanted = old_text.trim();
        if wanted.is_empty() {
            return Err(format!(
                "Operation {number} has no old_text: give a short piece of the entry."
            ));
        }
        // An attack is found by its placeholder alone, so that nobody has to repeat it.
        let blocked = |item: &&Item| item.shown != item.text;
        if let Some(at) = self.items.iter().position(|item| blocked(&item) && item.shown == wanted)
        {
            return Ok(at);
        }
        let texts: Vec<&str> = self.items.iter().map(|item| item.text.as_str()).collect();
        match find(&texts, wanted) {
            Found::At(at) => Ok(at),
            Found::PartOf(at) => Err(format!(
                "The old_text of operation {number} is only a part of an entry of several lines, and \
                 the whole entry would go. Give the entry whole as old_text, and in content all of it \
                 that is to stay. The entry:\n{}",
                self.items[at].shown
            )),
            Found::Ambiguous(places) => Err(format!(
                "The old_text of operation {number} is found in {} entries. Give a piece that only one \
                 holds.{}",
                places.len(),
                self.list(&places)
            )),
            Found::Nothing(places) if places.is_empty() => Err(format!(
                "The old_text of operation {number} is found in no entry, and none is close to it."
            )),
            Found::Nothing(places) => Err(format!(
                "The old_text of operation {number} is found in no entry. The closest:{}",
                self.list(&places)
            )),
        }
    }

    fn list(&self, places: &[usize]) -> String {
        places.iter().map(|&at| format!("\n- {}", self.items[at].shown)).collect()
    }
}

#[cfg(test)]
mod tests;
