//! What a bot can do. One file a tool, and one line in the list of the composition root.

use std::sync::Arc;

use async_trait::async_trait;

use crate::access::Standing;
use crate::audience::Audience;
use crate::bot::Bot;
use crate::ids::{ConversationId, TurnId};
use crate::ports::{Claim, ToolSpec, TurnNotes};

pub mod memory;

/// What a tool is told of the turn that calls it. Who somebody is comes from here, never from the
/// arguments, which a model made.
#[derive(Clone, Debug)]
pub struct ToolContext {
    /// The bot.
    pub bot: Bot,
    /// The conversation.
    pub conversation: ConversationId,
    /// Who reads it.
    pub audience: Audience,
    /// Whose turn it is.
    pub standing: Standing,
    /// Whether outside text entered in this turn.
    pub outside: bool,
    /// Paths of the documents that this conversation loads.
    pub loaded: Vec<String>,
    /// The turn.
    pub turn: TurnId,
    /// The claim, for commits.
    pub claim: Claim,
    /// Turn, message and index of the call in one string: the same after a restart.
    pub key: String,
    /// What the turn remembers.
    pub notes: TurnNotes,
}

/// What came of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolOutput {
    /// What the model reads. Never empty.
    pub text: String,
    /// It holds outside text.
    pub outside: bool,
    /// The file that was changed, as the turn's closing line names it.
    pub changed: Option<String>,
    /// It was refused; the `memory` tool counts these.
    pub refused: bool,
}

impl ToolOutput {
    /// A plain result.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A refusal that the model reads.
    #[must_use]
    pub fn refused(text: impl Into<String>) -> Self {
        Self { text: text.into(), refused: true, ..Self::default() }
    }
}

/// A tool.
#[async_trait]
pub trait Tool: Send + Sync + 'static {
    /// As the model is told of it. The same for every turn.
    fn spec(&self) -> ToolSpec;

    /// Whether a call without a stored result may simply run again after a crash: it changes
    /// nothing, or it finds by [`ToolContext::key`] what it did before.
    fn repeatable(&self) -> bool;

    /// Runs the call. `arguments` fit the schema. A failure is a text that the model can act on.
    async fn run(&self, context: &ToolContext, arguments: serde_json::Value) -> ToolOutput;
}

/// The tools of the home.
#[derive(Clone)]
pub struct Toolbox {
    tools: Arc<[Arc<dyn Tool>]>,
}

impl Toolbox {
    /// A box of these tools, in this order.
    #[must_use]
    pub fn new(tools: Vec<Arc<dyn Tool>>) -> Self {
        Self { tools: tools.into() }
    }

    /// What the model is told of them.
    #[must_use]
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        self.tools.iter().map(|tool| tool.spec()).collect()
    }

    /// The tool of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.spec().name == name)
    }
}
