//! Running a call of the model's: whether it may run at all, what it is told of the turn, and what
//! the model reads of it.

use jsonschema::Validator;

use crate::message::Call;
use crate::tools::{Tool, ToolContext, ToolOutput, Toolbox};
use crate::turn::MAX_RESULT;
use crate::turn::batch::cut;

/// What a call without a result is answered after a restart, if its tool cannot tell what it did.
const INTERRUPTED: &str =
    "Interrupted by a restart; the outcome is unknown. Look before you call again.";

/// What a call is answered that was never run.
pub(super) const NOT_RUN: &str = "Not run: the turn was stopped.";

/// What a call is answered that ran when the turn was stopped, and was not finished soon after.
pub(super) const BROKEN_OFF: &str = "Broken off: the turn was stopped while this ran; the outcome is \
unknown. Look before you call again.";

/// Runs one call. Whatever the model wrote, what comes back is a text that it can act on.
pub(super) async fn run(
    tools: &Toolbox,
    call: &Call,
    context: &ToolContext,
    resumed: bool,
) -> ToolOutput {
    let Some(tool) = tools.find(&call.name) else {
        let names: Vec<String> = tools.specs().iter().map(|spec| spec.name.clone()).collect();
        return ToolOutput::text(format!(
            "There is no tool {:?}. The tools are: {}.",
            call.name,
            names.join(", ")
        ));
    };
    if resumed && !tool.repeatable() {
        return ToolOutput::text(INTERRUPTED);
    }
    match arguments(&**tool, &call.arguments) {
        Ok(arguments) => bounded(tool.run(context, arguments).await),
        Err(why) => ToolOutput::text(why),
    }
}

/// The arguments, checked against the tool's schema.
fn arguments(tool: &dyn Tool, text: &str) -> Result<serde_json::Value, String> {
    let text = if text.trim().is_empty() { "{}" } else { text };
    let value = serde_json::from_str(text).map_err(|error| {
        format!("Nothing was done: the arguments are not valid JSON ({error}).")
    })?;
    let spec = tool.spec();
    let Ok(validator) = Validator::new(&spec.schema) else {
        tracing::error!(
            tool = spec.name,
            "a tool's own schema is broken; its arguments go unchecked"
        );
        return Ok(value);
    };
    let faults: Vec<String> = validator
        .iter_errors(&value)
        .take(3)
        .map(|fault| {
            let path = fault.instance_path().to_string();
            let place = if path.is_empty() { "the arguments".to_owned() } else { path };
            cut(&format!("{place}: {fault}"), 300)
        })
        .collect();
    if faults.is_empty() {
        return Ok(value);
    }
    Err(format!("Nothing was done: the arguments do not fit.\n{}", faults.join("\n")))
}

fn bounded(output: ToolOutput) -> ToolOutput {
    let text = if output.text.trim().is_empty() {
        "(nothing)".to_owned()
    } else {
        cut(&output.text, MAX_RESULT)
    };
    ToolOutput { text, ..output }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use async_trait::async_trait;
    use serde_json::{Value, json};

    use super::*;
    use crate::access::Standing;
    use crate::audience::Audience;
    use crate::bot::Bot;
    use crate::ids::{BotId, ConversationId, Fence, HolderId, TurnId};
    use crate::ports::{Claim, ToolSpec, TurnNotes};

    struct Echo {
        repeatable: bool,
    }

    #[async_trait]
    impl Tool for Echo {
        fn spec(&self) -> ToolSpec {
            let schema = json!({
                "type": "object",
                "properties": {"text": {"type": "string"}},
                "required": ["text"],
                "additionalProperties": false,
            });
            ToolSpec { name: "echo".into(), description: "Says it again.".into(), schema }
        }

        fn repeatable(&self) -> bool {
            self.repeatable
        }

        async fn run(&self, _: &ToolContext, arguments: Value) -> ToolOutput {
            ToolOutput::text(arguments["text"].as_str().unwrap_or_default())
        }
    }

    fn context() -> ToolContext {
        ToolContext {
            bot: Bot {
                id: BotId(1),
                name: "atlas".into(),
                shown: "Atlas".into(),
                model: "default".into(),
            },
            conversation: ConversationId(1),
            audience: Audience::Private,
            standing: Standing::Owner,
            outside: false,
            loaded: Vec::new(),
            turn: TurnId(1),
            claim: Claim {
                conversation: ConversationId(1),
                holder: HolderId("me".into()),
                fence: Fence(1),
                attempt: 1,
            },
            key: "1:1:0".into(),
            notes: TurnNotes::default(),
        }
    }

    async fn answer(name: &str, arguments: &str, repeatable: bool, resumed: bool) -> String {
        let tools = Toolbox::new(vec![Arc::new(Echo { repeatable })]);
        let call = Call { id: "a".into(), name: name.into(), arguments: arguments.into() };
        run(&tools, &call, &context(), resumed).await.text
    }

    #[tokio::test]
    async fn arguments_that_do_not_fit_are_told_so_that_a_model_can_mend_them() {
        let told = answer("echo", r#"{"text": 5, "more": 1}"#, true, false).await;
        assert!(told.starts_with("Nothing was done: the arguments do not fit."), "{told}");
        assert!(told.contains("/text") && told.contains("more"), "{told}");
        let told = answer("echo", r#"{"text": "#, true, false).await;
        assert!(told.starts_with("Nothing was done: the arguments are not valid JSON"), "{told}");
        assert!(answer("echo", "", true, false).await.contains("required"));
    }

    #[tokio::test]
    async fn an_unknown_tool_is_answered_with_the_names_of_those_there_are() {
        assert_eq!(
            answer("eco", "{}", true, false).await,
            "There is no tool \"eco\". The tools are: echo."
        );
    }

    #[tokio::test]
    async fn after_a_restart_only_a_repeatable_call_runs_again() {
        assert_eq!(answer("echo", r#"{"text": "hi"}"#, true, true).await, "hi");
        assert_eq!(answer("echo", r#"{"text": "hi"}"#, false, true).await, INTERRUPTED);
    }

    #[tokio::test]
    async fn a_result_is_bounded_and_the_cut_is_told() {
        let long = "x".repeat(MAX_RESULT + 5);
        let told = answer("echo", &json!({"text": long}).to_string(), true, false).await;
        assert!(told.ends_with("[cut: 5 more characters]"));
        assert_eq!(answer("echo", r#"{"text": ""}"#, true, false).await, "(nothing)");
    }
}
