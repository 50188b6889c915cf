//! How Anthropic's server signs what its model thought, and what it takes back.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::check::Request;
use super::messages::{Refusal, all, blocks, is_reasoning, word};

/// What is known of the server's signatures.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Signing {
    /// Which key signs. What another one signed is refused.
    pub(super) key: u32,
    /// A signature holds only where the same stands before its block.
    pub(super) binds: bool,
}

/// The signature of a thought: over the thought, by this key, and where it binds over what stands
/// before it.
pub(super) fn signature(thought: &str, key: u32, before: &[String]) -> String {
    let digest = |of: &dyn Fn(&mut DefaultHasher)| {
        let mut hasher = DefaultHasher::new();
        of(&mut hasher);
        hasher.finish()
    };
    let of_thought = digest(&|hasher| (key, thought).hash(hasher));
    let of_place = digest(&|hasher| before.hash(hasher));
    format!("Sig+{key}/{of_thought:016x}/{of_place:016x}==")
}

/// Refuses thoughts that this server has not signed, or not here.
pub(super) fn look(request: &Request, signing: Signing, drops: bool) -> Result<(), Refusal> {
    // The tools are an element of their own, and each block is one.
    let mut at = 1 + all(&request.body["system"]).len();
    for (index, message) in all(&request.body["messages"]).iter().enumerate() {
        for (place, block) in blocks(message).iter().enumerate() {
            if is_reasoning(block) {
                let given = word(block, "signature");
                let key = given.trim_start_matches("Sig+").split('/').next().unwrap_or_default();
                let key: u32 = key.parse().unwrap_or(u32::MAX);
                let due = signature(word(block, "thinking"), key, &request.elements[..at - place]);
                let halves = |signature: &str| {
                    signature.rsplit_once('/').map(|(of, at)| (of.to_owned(), at.to_owned()))
                };
                let (given, due) = (halves(given), halves(&due));
                let of = |halves: &Option<(String, String)>| halves.clone().map(|(of, _)| of);
                let invalid = format!(
                    "messages.{index}.content.{place}: Invalid `signature` in `thinking` block"
                );
                if of(&given) != of(&due) {
                    return Err(Refusal::Fault(format!("{invalid}, which was changed: {block}")));
                }
                if key != signing.key {
                    return Err(Refusal::Refused(invalid));
                }
                if signing.binds && !drops && given != due {
                    return Err(Refusal::Refused(format!(
                        "{invalid}. The block is bound to a different conversation. Remove the \
                         block, or set `thinking.block_binding.prefix_mismatch_behavior` to \
                         \"drop_block\"."
                    )));
                }
            }
            at += 1;
        }
    }
    Ok(())
}
