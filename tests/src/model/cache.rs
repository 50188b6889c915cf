//! What the caches of the real servers would have saved, by their published rules: for Anthropic marks,
//! look-back, lifetime and least length; for `OpenAI` steps of 128 tokens, least length and lifetime.
//!
//! Tokens are counted as the stand-in counts them, a token for four bytes of JSON. What matters is the
//! share, not the number.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use serde_json::Value;

use super::check::{Dialect, Request};

/// How many blocks a server looks at from a mark backwards, the mark's own among them.
const LOOK_BACK: usize = 20;
/// Tokens of a step in which prompts of chat completions are kept.
const STEP: usize = 128;
/// Bytes of a token.
const BYTES: usize = 4;
/// How long a mark without a lifetime keeps its prefix.
const FIVE_MINUTES: Duration = Duration::from_secs(300);

/// A request, and when it was sent, from any beginning on.
pub type Sent<'a> = (Duration, &'a Request);

/// What requests cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Tokens of input.
    pub input: u64,
    /// Of these, read from the cache.
    pub cached: u64,
    /// Of these, written to it.
    pub written: u64,
}

impl Share {
    /// The part that was read from the cache, 0 to 100.
    #[must_use]
    pub fn percent(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a share of tokens that fit into 52 bits")]
        let share = |part: u64, whole: u64| part as f64 * 100.0 / whole.max(1) as f64;
        share(self.cached, self.input)
    }

    fn add(&mut self, other: Self) {
        self.input += other.input;
        self.cached += other.cached;
        self.written += other.written;
    }
}

/// What a dialect's servers do with these requests of any conversations, which were all answered, in
/// their order. A prefix of fewer than `least` tokens is not kept. `lifetime` is that of chat
/// completions; Anthropic's stands on the marks.
#[must_use]
pub fn share<'a>(
    sent: impl IntoIterator<Item = Sent<'a>>,
    least: u64,
    lifetime: Duration,
) -> Share {
    let (mut kept, mut share) = (HashMap::new(), Share::default());
    for (at, request) in sent {
        share.add(match request.dialect {
            Dialect::Messages => marked(&mut kept, at, request, least),
            Dialect::Chat => stepped(&mut kept, at, request, least, lifetime),
        });
    }
    share
}

/// By the hash of a prefix: how long it is kept, and until when.
type Kept = HashMap<u64, (Duration, Duration)>;

/// Whether a prefix is still kept; if so, from now on for its whole lifetime again.
fn used(kept: &mut Kept, prefix: u64, at: Duration) -> bool {
    let Some((lifetime, until)) = kept.get_mut(&prefix).filter(|(_, until)| at < *until) else {
        return false;
    };
    *until = at + *lifetime;
    true
}

/// A prefix of a request that ends with a block: its hash, its tokens, and how long its mark keeps it.
struct Prefix {
    hash: u64,
    tokens: u64,
    keeps: Option<Duration>,
}

fn prefixes(request: &Request) -> Vec<Prefix> {
    let body = &request.body;
    let of = |list: &Value| list.as_array().cloned().unwrap_or_default();
    let mut blocks: Vec<(String, Value)> = Vec::new();
    blocks.extend(of(&body["tools"]).into_iter().map(|tool| ("tools".to_owned(), tool)));
    blocks.extend(of(&body["system"]).into_iter().map(|block| ("system".to_owned(), block)));
    for message in of(&body["messages"]) {
        let role = message["role"].to_string();
        blocks.extend(of(&message["content"]).into_iter().map(|block| (role.clone(), block)));
    }
    let mut hasher = DefaultHasher::new();
    body["model"].to_string().hash(&mut hasher);
    let mut tokens = 0;
    let prefix = |(role, mut block): (String, Value)| {
        let mark = block.as_object_mut().and_then(|fields| fields.shift_remove("cache_control"));
        let text = block.to_string();
        (role, &text).hash(&mut hasher);
        tokens += text.len().div_ceil(BYTES) as u64;
        let keeps = mark.map(|mark| match mark["ttl"].as_str() {
            Some("1h") => Duration::from_secs(3600),
            _ => FIVE_MINUTES,
        });
        Prefix { hash: hasher.finish(), tokens, keeps }
    };
    blocks.into_iter().map(prefix).collect()
}

fn marked(kept: &mut Kept, at: Duration, request: &Request, least: u64) -> Share {
    let prefixes = prefixes(request);
    let marks: Vec<usize> = (0..prefixes.len()).filter(|i| prefixes[*i].keeps.is_some()).collect();
    let mut cached = 0;
    for mark in &marks {
        let from = (mark + 1).saturating_sub(LOOK_BACK);
        let found = (from..=*mark).rev().find(|i| used(kept, prefixes[*i].hash, at));
        cached = cached.max(found.map_or(0, |found| prefixes[found].tokens));
    }
    let mut upto = cached;
    for prefix in marks.iter().map(|mark| &prefixes[*mark]).filter(|p| p.tokens >= least) {
        let Some(lifetime) = prefix.keeps else { continue };
        kept.insert(prefix.hash, (lifetime, at + lifetime));
        upto = upto.max(prefix.tokens);
    }
    let input = prefixes.last().map_or(0, |last| last.tokens);
    Share { input, cached, written: upto - cached }
}

fn stepped(
    kept: &mut Kept,
    at: Duration,
    request: &Request,
    least: u64,
    lifetime: Duration,
) -> Share {
    let text = request.elements.concat();
    let input = text.len().div_ceil(BYTES) as u64;
    let mut hasher = DefaultHasher::new();
    (request.body["model"].to_string(), request.cache_key()).hash(&mut hasher);
    let mut steps = Vec::new();
    for step in text.as_bytes().chunks_exact(STEP * BYTES) {
        step.hash(&mut hasher);
        steps.push(hasher.finish());
    }
    let found = steps.iter().take_while(|step| used(kept, **step, at)).count();
    let cached = (found * STEP) as u64;
    let cached = if cached < least { 0 } else { cached };
    if input >= least {
        kept.extend(steps.iter().map(|step| (*step, (lifetime, at + lifetime))));
    }
    Share { input, cached, written: 0 }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const HOUR: u64 = 3600;

    /// A block of about so many tokens.
    fn block(name: usize, tokens: usize) -> Value {
        json!({"type": "text", "text": format!("{name:04}").repeat(tokens)})
    }

    fn mark(block: &mut Value, ttl: &str) {
        block["cache_control"] = json!({"type": "ephemeral", "ttl": ttl});
    }

    /// A request of `blocks` blocks of 100 tokens each, marked at these.
    fn messages(blocks: usize, marks: &[usize], ttl: &str) -> Request {
        let mut content: Vec<Value> = (0..blocks).map(|name| block(name, 100)).collect();
        marks.iter().for_each(|at| mark(&mut content[*at], ttl));
        let body = json!({"model": "m", "messages": [{"role": "user", "content": content}]});
        Request::new(Dialect::Messages, body)
    }

    fn chat(words: usize, key: &str) -> Request {
        let messages: Vec<Value> = (0..words)
            .map(|name| json!({"role": "user", "content": block(name, 100)["text"]}))
            .collect();
        let body =
            json!({"model": "m", "prompt_cache_key": key, "messages": messages, "tools": []});
        Request::new(Dialect::Chat, body)
    }

    fn shares(sent: &[(u64, &Request)], least: u64) -> Vec<Share> {
        let at = |at: u64| Duration::from_secs(at);
        let sum = |count: usize| {
            let sent = sent[..count].iter().map(|(secs, request)| (at(*secs), *request));
            share(sent, least, FIVE_MINUTES)
        };
        (1..=sent.len())
            .map(|count| {
                let (before, after) = (sum(count - 1), sum(count));
                Share {
                    input: after.input - before.input,
                    cached: after.cached - before.cached,
                    written: after.written - before.written,
                }
            })
            .collect()
    }

    fn cached(sent: &[(u64, &Request)], least: u64) -> Vec<u64> {
        shares(sent, least).iter().map(|share| share.cached * 10 / share.input).collect()
    }

    #[test]
    fn what_was_marked_is_read_by_the_next_request_and_what_is_new_is_written() {
        let (first, second) = (messages(5, &[4], "5m"), messages(10, &[4, 9], "5m"));
        let shares = shares(&[(0, &first), (10, &second)], 0);
        assert_eq!((shares[0].cached, shares[0].written), (0, shares[0].input));
        assert_eq!(shares[1].cached, shares[0].input);
        assert_eq!(shares[1].written, shares[1].input - shares[1].cached);
        let percent = share([(Duration::ZERO, &first)], 0, FIVE_MINUTES).percent();
        assert!(percent.abs() < f64::EPSILON);
    }

    #[test]
    fn a_mark_finds_what_is_at_most_twenty_blocks_back() {
        let first = messages(5, &[4], "5m");
        for (blocks, finds) in [(24, true), (25, false)] {
            let next = messages(blocks, &[blocks - 1], "5m");
            let share = shares(&[(0, &first), (10, &next)], 0)[1];
            assert_eq!(share.cached > 0, finds, "{blocks} blocks");
        }
        let both = messages(40, &[4, 39], "5m");
        assert!(shares(&[(0, &first), (10, &both)], 0)[1].cached > 0, "a mark where it was");
    }

    #[test]
    fn a_prefix_lives_from_its_last_use_and_an_hour_where_its_mark_says_so() {
        let short = messages(5, &[4], "5m");
        assert_eq!(cached(&[(0, &short), (299, &short), (598, &short)], 0), [0, 10, 10]);
        assert_eq!(cached(&[(0, &short), (300, &short)], 0), [0, 0]);
        let long = messages(5, &[4], "1h");
        assert_eq!(cached(&[(0, &long), (HOUR - 1, &long), (2 * HOUR, &long)], 0), [0, 10, 0]);
    }

    #[test]
    fn what_changed_or_is_too_short_or_has_no_mark_is_not_served() {
        let marked = messages(5, &[4], "5m");
        assert_eq!(cached(&[(0, &marked), (1, &marked)], 1024), [0, 0], "500 tokens are too few");
        let bare = messages(5, &[], "5m");
        assert_eq!(cached(&[(0, &bare), (1, &bare)], 0), [0, 0]);
        let mut body = marked.body.clone();
        body["messages"][0]["content"][0]["text"] = "changed".into();
        let changed = Request::new(Dialect::Messages, body);
        assert_eq!(cached(&[(0, &marked), (1, &changed)], 0), [0, 0]);
    }

    #[test]
    fn chat_completions_are_served_in_steps_of_128_tokens_from_1024_on() {
        let (short, long, longer) = (chat(5, "k"), chat(20, "k"), chat(22, "k"));
        assert_eq!(shares(&[(0, &short), (1, &short)], 1024)[1].cached, 0);
        let share = shares(&[(0, &long), (1, &longer)], 1024)[1];
        assert!(share.cached.is_multiple_of(128) && share.cached > 1900, "{share:?}");
        assert_eq!(shares(&[(0, &long), (300, &longer)], 1024)[1].cached, 0, "cold");
        let other = chat(20, "other");
        assert_eq!(shares(&[(0, &long), (1, &other)], 1024)[1].cached, 0, "routed elsewhere");
    }
}
