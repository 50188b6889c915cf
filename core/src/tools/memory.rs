//! The `memory` tool: the owner's profile and the bot's notes.
//!
//! Who may change them is [`authorise`]'s answer, how they are written is the [`MemoryWriter`]'s
//! business; this file turns a model's arguments into a [`Change`] and what came of it into words.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::Deserialize;

use crate::authorise::{Asked, Refusal, Taint, Verdict, authorise};
use crate::change::{Change, Operation, Target};
use crate::memory::{MemoryWriter, WriteError, Written, operations};
use crate::ports::{FileError, Origin, ToolSpec, mend_unreadable};
use crate::tools::{Tool, ToolContext, ToolOutput};

/// The tool's name.
pub const NAME: &str = "memory";

const DESCRIPTION: &str = "\
Adds, replaces and removes entries of two small files. target \"user\" is the owner's profile, \"memory\" \
your own notes. operations are applied in order, all or none, and the size limit is checked on the \
result, so one call can free room and add. add: content is a new entry. replace: content overwrites the \
whole entry that old_text finds. remove: takes out the entry that old_text finds. old_text is a short \
piece that only one entry holds; an entry of several lines has to be given whole; [BLOCKED: …] names the \
blocked entry.";

/// Refusals in a row after which a turn is told to stop.
const REFUSALS: u32 = 3;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// Which file.
    target: TargetName,
    /// What to do, in order.
    operations: Option<Vec<OperationArguments>>,
    /// A single operation may stand here without `operations`.
    #[serde(flatten)]
    bare: BareOperation,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum TargetName {
    User,
    Memory,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Action {
    Add,
    Replace,
    Remove,
}

#[derive(Deserialize, JsonSchema)]
struct OperationArguments {
    action: Action,
    /// For replace and remove: a short piece of the entry.
    old_text: Option<String>,
    /// For add and replace: the entry.
    content: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct BareOperation {
    /// In place of `operations`, for a single one.
    action: Option<Action>,
    /// See `operations`.
    old_text: Option<String>,
    /// See `operations`.
    content: Option<String>,
}

/// The tool.
pub struct MemoryTool {
    writer: Arc<MemoryWriter>,
    schema: serde_json::Value,
}

impl MemoryTool {
    /// The tool over the home's writer.
    #[must_use]
    pub fn new(writer: Arc<MemoryWriter>) -> Self {
        Self { writer, schema: schema() }
    }

    async fn change(&self, context: &ToolContext, arguments: serde_json::Value) -> ToolOutput {
        let (target, operations) = match read(arguments) {
            Ok(read) => read,
            Err(why) => return refused(context, &format!("Refused; nothing was changed. {why}")),
        };
        let path = target.path(&context.bot);
        let loaded = context.loaded.contains(&path);
        match authorise(asked(context, loaded, &operations)) {
            Verdict::Apply => {}
            Verdict::Propose => return refused(context, &waits_for_nothing(&operations, loaded)),
            Verdict::Refuse(why) => return refused(context, reason(why)),
        }
        let change = Change {
            target,
            path,
            operations,
            origin: Origin::Tool,
            key: context.key.clone(),
            bot: target.of(&context.bot),
            conversation: Some(context.conversation),
            claim: Some(context.claim.clone()),
        };
        match self.writer.write(&change).await {
            Ok(Written::Applied(reply)) => {
                ToolOutput { changed: Some(target.updated().to_owned()), ..ToolOutput::text(reply) }
            }
            Ok(Written::Unchanged(reply)) => ToolOutput::text(reply),
            Ok(Written::Refused(reply)) => refused(context, &reply),
            Err(error) => refused(context, &failed(&error)),
        }
    }
}

#[async_trait]
impl Tool for MemoryTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: NAME.to_owned(),
            description: DESCRIPTION.to_owned(),
            schema: self.schema.clone(),
        }
    }

    fn repeatable(&self) -> bool {
        // The writer finds by the call's key what came of it before.
        true
    }

    async fn run(&self, context: &ToolContext, arguments: serde_json::Value) -> ToolOutput {
        self.change(context, arguments).await
    }
}

fn schema() -> serde_json::Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<Arguments>();
    schema.remove("title");
    schema.remove("description");
    schema.to_value()
}

fn asked(context: &ToolContext, loaded: bool, operations: &[Operation]) -> Asked {
    Asked {
        origin: Origin::Tool,
        taint: if context.outside { Taint::Outside } else { Taint::Clean },
        audience: context.audience,
        standing: context.standing,
        loaded,
        additions: operations.iter().all(Operation::is_addition),
    }
}

/// The change that the arguments ask for, or what is wrong with them.
fn read(arguments: serde_json::Value) -> Result<(Target, Vec<Operation>), String> {
    let arguments: Arguments =
        serde_json::from_value(arguments).map_err(|error| format!("The arguments: {error}."))?;
    let target = match arguments.target {
        TargetName::User => Target::User,
        TargetName::Memory => Target::Memory,
    };
    let mut operations = arguments.operations.unwrap_or_default();
    let BareOperation { action, old_text, content } = arguments.bare;
    if let Some(action) = action
        && operations.is_empty()
    {
        operations.push(OperationArguments { action, old_text, content });
    }
    if operations.is_empty() {
        return Err("operations is empty: say what to add, replace or remove.".to_owned());
    }
    let operations = operations.into_iter().enumerate();
    let operations = operations.map(|(index, operation)| read_one(index + 1, operation));
    Ok((target, operations.collect::<Result<_, _>>()?))
}

fn read_one(number: usize, arguments: OperationArguments) -> Result<Operation, String> {
    let content = arguments.content.ok_or_else(|| format!("Operation {number} needs content."));
    let old_text = arguments.old_text.ok_or_else(|| format!("Operation {number} needs old_text."));
    Ok(match arguments.action {
        Action::Add => Operation::Add { content: content? },
        Action::Replace => Operation::Replace { old_text: old_text?, content: content? },
        Action::Remove => Operation::Remove { old_text: old_text? },
    })
}

/// A refusal. The third in a row says that it is enough.
fn refused(context: &ToolContext, why: &str) -> ToolOutput {
    let row = context.notes.refusals.saturating_add(1);
    if row < REFUSALS {
        return ToolOutput::refused(why);
    }
    ToolOutput::refused(format!(
        "{why}\nThis was refusal {row} in a row. Stop now: do not call memory again in this turn, and \
         answer the person. The fact can be saved later."
    ))
}

/// Changes cannot wait yet: what would be proposed is refused, with the way that works.
fn waits_for_nothing(operations: &[Operation], loaded: bool) -> String {
    if let Err(why) = operations::check_contents(operations) {
        return format!("Refused; nothing was changed. {why}");
    }
    let cause = if loaded {
        "This turn holds text that the owner did not write"
    } else {
        "This file is not loaded in this conversation, which others read"
    };
    format!(
        "Refused; nothing was changed, and nothing waits. {cause}. If it is worth keeping, tell the \
         owner: ask in a message of your own, in our private chat."
    )
}

fn reason(why: Refusal) -> &'static str {
    match why {
        Refusal::NotTheOwner => {
            "Refused; nothing was changed, and nothing waits. This is not the owner's turn, and only \
             the owner has memory changed. Do not say that it was saved."
        }
        Refusal::NotLoadedHere => {
            "Refused; nothing was changed, and nothing waits. This file is not loaded in this \
             conversation, which others read, so nothing of it is shown or changed here. Tell the \
             owner: ask me in our private chat."
        }
    }
}

fn failed(error: &WriteError) -> String {
    let mend = match error {
        WriteError::File(FileError::Unreadable { why, .. }) => {
            let mend = mend_unreadable(why);
            return format!("Not saved: {error}. It was left alone. Tell the owner: {mend}.");
        }
        WriteError::File(FileError::Unwritable { .. }) => {
            " Nothing was changed. Tell the owner: check the disk's free space and the folder's \
             permissions."
        }
        WriteError::File(FileError::BadPath(_)) => " Nothing was changed.",
        WriteError::Busy(_) => " Try once more.",
        WriteError::Store(_) => " Whether it was saved is not known yet; do not say that it was.",
    };
    format!("Not saved: {error}.{mend}")
}

#[cfg(test)]
mod tests;
