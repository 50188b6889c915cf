//! The request as bytes: a pure function of the stored rows and of what is known of the server.
//!
//! Fields have one order and `messages` is the last of them. Each stored row becomes blocks from itself
//! alone; rows of one side that follow each other are one message, since roles alternate here. So
//! what was sent once is, block by block and marks of the cache apart, the beginning of what is sent
//! next.

use std::borrow::Cow;

use atlas_core::message::{Blocks, Body, Call};
use atlas_core::ports::{ModelRequest, ToolSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::assemble::is_reasoning;
use super::breakpoints::{CacheTtl, Spot, marked, with_mark};
use crate::model::arguments::{hex, sound};
use crate::model::render::user_text;

/// The longest name of a tool that the dialect's makers take.
const NAME: usize = 128;

/// What a request depends on besides the rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Server<'a> {
    pub(super) model: &'a str,
    /// Whose blocks are replayed.
    pub(super) signer: &'a str,
    pub(super) max_output: u32,
    /// The server is told to pass over reasoning that is not where it was, and not to refuse it.
    pub(super) drops_reasoning: bool,
    pub(super) cache_ttl: CacheTtl,
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Metadata<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Box<RawValue>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Box<RawValue>>,
    messages: Vec<Message>,
}

/// What the conversation's requests have in common. It names nobody.
#[derive(Serialize)]
struct Metadata<'a> {
    user_id: &'a str,
}

#[derive(Serialize)]
struct Message {
    role: Role,
    content: Vec<Box<RawValue>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Assistant,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text { text: &'a str },
    ToolUse { id: Cow<'a, str>, name: Cow<'a, str>, input: Box<RawValue> },
    ToolResult { tool_use_id: Cow<'a, str>, content: &'a str },
}

/// A block on its way: its JSON, and whether a mark may stand on it.
struct Rendered {
    json: String,
    marks: bool,
}

/// The beginning of any block.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow, default)]
    r#type: Cow<'a, str>,
    #[serde(borrow, default)]
    id: Cow<'a, str>,
}

/// The body of the request.
///
/// # Errors
///
/// None that is known: every part of it is text or JSON.
pub(super) fn render(request: &ModelRequest, server: &Server<'_>) -> serde_json::Result<Vec<u8>> {
    let mut tools = Vec::with_capacity(request.tools.len());
    for spec in request.tools.iter() {
        tools.push(tool(spec)?);
    }
    let mut system = Vec::new();
    if !request.system.trim().is_empty() {
        system.push(serde_json::to_string(&Block::Text { text: &request.system })?);
    }
    if let Some(last) = system.last_mut().or(tools.last_mut()) {
        *last = with_mark(last, server.cache_ttl);
    }
    let user_id = request.cache_key.as_str();
    serde_json::to_vec(&Request {
        model: server.model,
        max_tokens: server.max_output,
        stream: true,
        thinking: server.drops_reasoning.then(drop_reasoning).transpose()?,
        metadata: (!user_id.is_empty()).then_some(Metadata { user_id }),
        tools: raw(tools)?,
        system: raw(system)?,
        messages: messages(request, server)?,
    })
}

fn drop_reasoning() -> serde_json::Result<Box<RawValue>> {
    let field = r#"{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}"#;
    RawValue::from_string(field.to_owned())
}

fn tool(spec: &ToolSpec) -> serde_json::Result<String> {
    let (name, description) = (&spec.name, &spec.description);
    serde_json::to_string(&Tool { name, description, input_schema: &spec.schema })
}

fn raw(blocks: impl IntoIterator<Item = String>) -> serde_json::Result<Vec<Box<RawValue>>> {
    blocks.into_iter().map(RawValue::from_string).collect()
}

fn messages(request: &ModelRequest, server: &Server<'_>) -> serde_json::Result<Vec<Message>> {
    let mut sides: Vec<(Role, Vec<Rendered>)> = Vec::new();
    for body in &request.messages {
        let (role, blocks) = blocks(body, request, server)?;
        match sides.last_mut() {
            Some((last, held)) if *last == role => held.extend(blocks),
            _ => sides.push((role, blocks)),
        }
    }
    // Servers begin with a person.
    if sides.first().is_none_or(|(role, _)| *role == Role::Assistant) {
        sides.insert(0, (Role::User, vec![text("(the conversation begins)")?]));
    }
    let spot =
        |role: Role, block: &Rendered| Spot { own: role == Role::Assistant, marks: block.marks };
    let spots: Vec<Spot> = sides
        .iter()
        .flat_map(|(role, blocks)| blocks.iter().map(|block| spot(*role, block)))
        .collect();
    let marked = marked(&spots);
    let mut at = 0;
    let mut messages = Vec::with_capacity(sides.len());
    for (role, blocks) in sides {
        let mut content = Vec::with_capacity(blocks.len());
        for block in blocks {
            let has_mark = marked.contains(&at);
            content.push(if has_mark {
                with_mark(&block.json, server.cache_ttl)
            } else {
                block.json
            });
            at += 1;
        }
        messages.push(Message { role, content: raw(content)? });
    }
    Ok(messages)
}

/// A row as blocks, and whose they are.
fn blocks(
    body: &Body,
    request: &ModelRequest,
    server: &Server<'_>,
) -> serde_json::Result<(Role, Vec<Rendered>)> {
    Ok(match body {
        Body::User { parts } => {
            (Role::User, vec![text(solid(&user_text(parts), "(an empty message)"))?])
        }
        Body::Tool { call, text, .. } => {
            let content = solid(text, "(no output)");
            let result = Block::ToolResult { tool_use_id: id(call), content };
            (Role::User, vec![rendered(&result)?])
        }
        Body::Assistant { text, calls, blocks } => {
            let blocks = blocks.as_ref().filter(|blocks| blocks.signer == server.signer);
            let own = blocks.and_then(|blocks| own(blocks, calls, request.reasoning));
            let blocks = match own {
                Some(blocks) => blocks,
                None => foreign(text, calls)?,
            };
            (Role::Assistant, blocks)
        }
    })
}

/// The provider's own message, if it holds just these calls (a transcript that was mended is no longer
/// what it wrote) and anything besides reasoning.
fn own(blocks: &Blocks, calls: &[Call], reasoning: bool) -> Option<Vec<Rendered>> {
    #[derive(Deserialize)]
    struct Content<'a> {
        #[serde(borrow)]
        content: Vec<&'a RawValue>,
    }
    let content: Content<'_> = serde_json::from_str(&blocks.raw).ok()?;
    let mut ids = calls.iter().map(|call| call.id.as_str());
    let (mut own, mut says) = (Vec::with_capacity(content.content.len()), false);
    for block in content.content {
        let head: Head<'_> = serde_json::from_str(block.get()).ok()?;
        if head.r#type == "tool_use" && ids.next() != Some(&head.id) {
            return None;
        }
        if is_reasoning(&head.r#type) {
            if reasoning {
                own.push(Rendered { json: block.get().to_owned(), marks: false });
            }
            continue;
        }
        says = true;
        let marks = matches!(head.r#type.as_ref(), "text" | "tool_use");
        own.push(Rendered { json: block.get().to_owned(), marks });
    }
    (says && ids.next().is_none()).then_some(own)
}

/// An assistant's message out of its words and calls, for whoever did not write it.
fn foreign(said: &str, calls: &[Call]) -> serde_json::Result<Vec<Rendered>> {
    let mut blocks = Vec::with_capacity(calls.len() + 1);
    if calls.is_empty() || !said.trim().is_empty() {
        blocks.push(text(solid(said, "(no answer)"))?);
    }
    for call in calls {
        let input = RawValue::from_string(sound(&call.arguments).into_owned())?;
        blocks.push(rendered(&Block::ToolUse { id: id(&call.id), name: name(&call.name), input })?);
    }
    Ok(blocks)
}

fn text(text: &str) -> serde_json::Result<Rendered> {
    rendered(&Block::Text { text })
}

fn rendered(block: &Block<'_>) -> serde_json::Result<Rendered> {
    Ok(Rendered { json: serde_json::to_string(block)?, marks: true })
}

/// The id of a call as this dialect takes it: the same for the call and for its result.
fn id(id: &str) -> Cow<'_, str> {
    if !id.is_empty() && id.chars().all(is_plain) { id.into() } else { hex(id, 24).into() }
}

/// The name of a tool as this dialect takes it.
fn name(name: &str) -> Cow<'_, str> {
    if name.is_empty() {
        return "unknown".into();
    }
    if name.len() <= NAME && name.chars().all(is_plain) {
        return name.into();
    }
    name.chars().take(NAME).map(|c| if is_plain(c) { c } else { '_' }).collect::<String>().into()
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// Text that a server takes: not empty.
fn solid<'a>(text: &'a str, instead: &'a str) -> &'a str {
    if text.trim().is_empty() { instead } else { text }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
