//! Tells a tool call that a model wrote as text. Small models do it often; such text is no answer
//! for a person. Pure; what is done about it is the turn's.

use serde_json::{Map, Value};

/// Tags that models put around a call, opening and closing.
const TAGS: [(&str, &str); 10] = [
    ("<tool_call>", "</tool_call>"),
    ("<tool_calls>", "</tool_calls>"),
    ("<tools>", "</tools>"),
    ("<function_call>", "</function_call>"),
    ("<function_calls>", "</function_calls>"),
    ("<functioncall>", "</functioncall>"),
    ("<|tool_call|>", "<|/tool_call|>"),
    ("<|tool_call>", "<tool_call|>"),
    ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
    ("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
];

/// Marks that begin a call in some model's own markup. No answer for a person begins with one.
const MARKS: [&str; 9] = [
    "<function=",
    "<invoke name=",
    "[tool_calls]",
    "[tool_call]",
    "<|python_tag|>",
    "<|tool_call_begin|>",
    "<｜tool▁call▁begin｜>",
    "<|channel|>commentary to=functions.",
    "to=functions.",
];

/// Names under which a call holds the tool's name, and its arguments.
const NAMES: [&str; 5] = ["name", "tool", "tool_name", "function", "action"];
const ARGUMENTS: [&str; 6] =
    ["arguments", "parameters", "args", "input", "tool_input", "action_input"];

/// Whether the text is nothing but a call of a tool, or a broken piece of one. `tools` are the
/// names of the tools that the model has.
///
/// Text around the call, a sentence before a fenced block for instance, makes it an answer, unless
/// the call stands in tags that have no other use.
#[must_use]
pub fn looks_like_a_call(text: &str, tools: &[&str]) -> bool {
    let text = without_thoughts(text.trim());
    if text.is_empty() {
        return false;
    }
    let lower = text.to_lowercase();
    if MARKS.iter().any(|mark| lower.starts_with(mark)) || is_tagged(&lower, tools) {
        return true;
    }
    let inner = inside_fence(text).unwrap_or(text).trim();
    is_json_call(inner, tools) || is_written_call(inner, tools)
}

/// A call in tags: the text begins with one, ends with one, or is only what is left of one.
fn is_tagged(lower: &str, tools: &[&str]) -> bool {
    TAGS.iter().any(|(open, close)| {
        if lower.starts_with(open) || lower == *close {
            return true;
        }
        // A call behind words: only with a tool's name in it, for an answer may explain the tags.
        let Some(at) = lower.rfind(open).filter(|_| lower.ends_with(close)) else {
            // The opening tag was the template's, or was lost.
            return lower.strip_suffix(close).is_some_and(|rest| is_json_call(rest.trim(), tools));
        };
        let at_line_start = lower[..at].ends_with('\n');
        let call = lower[at + open.len()..].trim_end_matches(close);
        at_line_start && !in_fence(&lower[..at]) && names_a_tool(call, tools)
    })
}

fn in_fence(before: &str) -> bool {
    before.matches("```").count() % 2 == 1
}

fn names_a_tool(text: &str, tools: &[&str]) -> bool {
    tools.iter().any(|tool| text.contains(&tool.to_lowercase()))
}

/// What is in a fence, if the text is one fence and nothing else. A fence that was not closed counts.
fn inside_fence(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("```")?;
    let (language, body) = rest.split_once('\n')?;
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '+');
    if !language.trim().chars().all(is_word) {
        return None;
    }
    let body = body.trim_end();
    let body = body.strip_suffix("```").unwrap_or(body);
    (!body.contains("```")).then_some(body)
}

/// One JSON call, a list of them, several behind one another, or the broken beginning of one.
fn is_json_call(text: &str, tools: &[&str]) -> bool {
    if !text.starts_with(['{', '[']) {
        return false;
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let mut some = false;
    loop {
        match values.next() {
            Some(Ok(value)) if is_call_value(&value, tools) => some = true,
            Some(Ok(_)) => return false,
            None => return some,
            Some(Err(error)) => {
                let rest = &text[values.byte_offset()..];
                // Whole calls and a stray end behind them; or a call that breaks off.
                let stray = rest.trim_matches(|c: char| c.is_whitespace() || "}],;".contains(c));
                return some && stray.is_empty() || error.is_eof() && is_cut_call(rest, tools);
            }
        }
    }
}

fn is_call_value(value: &Value, tools: &[&str]) -> bool {
    match value {
        Value::Array(list) => {
            !list.is_empty() && list.iter().all(|item| is_call_value(item, tools))
        }
        Value::Object(map) => is_call_object(map, tools),
        _ => false,
    }
}

fn is_call_object(map: &Map<String, Value>, tools: &[&str]) -> bool {
    if let Some(inner) =
        ["tool_calls", "tool_call", "function_call", "calls"].iter().find_map(|key| map.get(*key))
    {
        return is_call_value(inner, tools);
    }
    if let Some(Value::Object(function)) = map.get("function") {
        return is_call_object(function, tools);
    }
    let name = NAMES.iter().find_map(|key| map.get(*key)?.as_str());
    let has_arguments = ARGUMENTS.iter().any(|key| map.contains_key(*key));
    if name.is_some_and(|name| is_tool(name, tools)) {
        return has_arguments || map.len() == 1 || map.contains_key("type");
    }
    // `{"memory": {"target": …}}`
    map.len() == 1 && map.iter().all(|(key, value)| is_tool(key, tools) && value.is_object())
}

fn is_tool(name: &str, tools: &[&str]) -> bool {
    let name = name.strip_prefix("functions.").unwrap_or(name);
    tools.iter().any(|tool| tool.eq_ignore_ascii_case(name))
}

/// The beginning of a JSON call: a tool's name under one of the names' keys.
fn is_cut_call(text: &str, tools: &[&str]) -> bool {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    NAMES.iter().any(|key| tools.iter().any(|tool| text.contains(&format!("\"{key}\":\"{tool}\""))))
}

/// `memory({"target": …})` or `memory{"target": …}` with JSON to the end, and nothing else.
fn is_written_call(text: &str, tools: &[&str]) -> bool {
    tools.iter().any(|tool| {
        let rest = text.strip_prefix("functions.").unwrap_or(text);
        let Some(rest) = rest.strip_prefix(tool) else { return false };
        let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ':');
        let inner = rest.strip_prefix('(').map_or(rest, |inner| inner.trim_end_matches([')', ';']));
        let inner = inner.trim();
        inner.starts_with('{') && serde_json::from_str::<Map<String, Value>>(inner).is_ok()
    })
}

/// The text behind a block of reasoning that a server left in it.
fn without_thoughts(text: &str) -> &str {
    let Some(rest) = text.strip_prefix("<think>") else { return text };
    rest.split_once("</think>").map_or(text, |(_, answer)| answer.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOLS: [&str; 2] = ["memory", "conversation_search"];

    // Case 17 of the public reports: never sent to a person.
    #[test]
    fn a_call_written_as_text_is_known() {
        for text in [
            r#"{"name": "memory", "arguments": {"target": "user", "operations": []}}"#,
            r#"  {"name":"memory","parameters":{"target":"user"}}  "#,
            r#"{"tool": "memory", "input": {"target": "user"}}"#,
            r#"{"type":"function","function":{"name":"memory","arguments":"{}"}}"#,
            r#"{"tool_calls":[{"function":{"name":"memory","arguments":"{}"}}]}"#,
            r#"[{"name":"memory","arguments":{}},{"name":"conversation_search","arguments":{}}]"#,
            "{\"name\":\"memory\",\"arguments\":{}}\n{\"name\":\"memory\",\"arguments\":{}}",
            r#"{"name":"memory","arguments":{}}}"#,
            r#"{"name": "memory"}"#,
            r#"{"memory": {"target": "user"}}"#,
            r#"{"name": "memory", "arguments": {"target": "us"#,
            r#"[{"name": "memory", "arguments": {"target": "us"#,
            "```json\n{\"name\": \"memory\", \"arguments\": {}}\n```",
            "```\n{\"name\": \"memory\", \"arguments\": {}}",
            "```tool_call\n{\"name\": \"memory\", \"arguments\": {}}\n```",
            "<tool_call>\n{\"name\": \"memory\", \"arguments\": {}}\n</tool_call>",
            "<tool_call>",
            "</tool_call>",
            "<tool_call>{\"na",
            "{\"name\": \"memory\", \"arguments\": {}}\n</tool_call>",
            "I will keep that.\n<tool_call>\n{\"name\": \"memory\"}\n</tool_call>",
            "<function=memory>{\"target\": \"user\"}</function>",
            "<function=memory>\n<parameter=target>\nuser\n</parameter>\n</function>",
            "<invoke name=\"memory\">",
            "<function_calls>\n<invoke name=\"memory\">",
            "[TOOL_CALLS] [{\"name\": \"memory\", \"arguments\": {}}]",
            "<|python_tag|>memory.call(target=\"user\")",
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.memory:0",
            "<｜tool▁calls▁begin｜>",
            "memory({\"target\": \"user\"})",
            "functions.memory({\"target\": \"user\"})",
            "memory: {\"target\": \"user\"}",
            "<think>hm</think>\n{\"name\": \"memory\", \"arguments\": {}}",
        ] {
            assert!(looks_like_a_call(text, &TOOLS), "{text}");
        }
    }

    #[test]
    fn an_answer_stays_an_answer() {
        for text in [
            "",
            "Hello.",
            "Your cat is called Pixel.",
            "I kept it with the memory tool.",
            "memory",
            "memory (the tool) keeps facts.",
            "Set parse_mode to MarkdownV2 and escape `_` and `*`.",
            "MarkdownV2",
            "A call looks like this:\n```json\n{\"name\": \"memory\", \"arguments\": {}}\n```",
            "```json\n{\"name\": \"memory\", \"arguments\": {}}\n```\nThat is how a call looks.",
            "```json\n{\"name\": \"Ana\", \"age\": 4}\n```",
            "{\"name\": \"Ana\", \"arguments\": []}",
            "{\"name\": \"memory\", \"size\": \"64 GB\", \"price\": 90}",
            "{\"chat_id\": 5, \"parse_mode\": \"MarkdownV2\", \"text\": \"*hi*\"}",
            "[1, 2, 3]",
            "{}",
            "[]",
            "{not json",
            "[TODO] write it down",
            "The tag `<tool_call>` opens a call and `</tool_call>`",
            "Use\n```\n<tool_call>\n{\"name\": \"memory\"}\n</tool_call>\n```",
            "fn main() { println!(\"{}\", memory(1)); }",
            "<b>bold</b>",
            "<function> is a tag in some dialects.",
            "```rust\nmemory(5);\n```",
        ] {
            assert!(!looks_like_a_call(text, &TOOLS), "{text}");
        }
    }

    #[test]
    fn without_tools_only_markup_is_a_call() {
        assert!(looks_like_a_call("<tool_call>", &[]));
        assert!(!looks_like_a_call(r#"{"name":"memory","arguments":{}}"#, &[]));
    }
}
