//! What stands between somebody who is not the owner and an answer: limits, a stranger's line with a
//! code, and the words of a refusal. The counting is the store's, in the transaction that stores the
//! event, so that neither a batch nor a restart gets past it.

use chrono::{DateTime, TimeDelta, Utc};

use crate::access::{Action, OF_A_BOT, Rate, Role, harmless_name, new_pairing_code, pairing_hash};
use crate::event::{ChatKind, Inbound};
use crate::home::Home;
use crate::ids::AccountId;
use crate::ports::{Counts, Door, Limit, NewDelivery, PairingRequest};

/// Minutes for which a stranger's code counts.
const MINUTES: i64 = 60;

/// The limits that a message or command is held to. The owner has none, and what ends an answer or
/// decides is never held back.
pub(super) fn counted(
    home: &Home,
    account: &AccountId,
    role: Role,
    action: Action,
    inbound: &Inbound,
) -> Door {
    let Some(by) = inbound.sender.person.clone().filter(|_| role != Role::Owner) else {
        return Door::Open;
    };
    if !matches!(action, Action::Talk | Action::Look) {
        return Door::Open;
    }
    let notice = |text: String| Some(NewDelivery::notice(inbound.place(account), text));
    let limits = home.limits;
    // A bot is told nothing: it might answer.
    let own = if role == Role::Bot {
        Limit { of: Counts::Person, rate: OF_A_BOT, notice: None }
    } else {
        // It is theirs alone, so where a command is answered in its place, this is too.
        let notice = notice(enough(limits.guest));
        let notice = notice.map(|told| NewDelivery { reply_to: inbound.as_command(), ..told });
        Limit { of: Counts::Person, rate: limits.guest, notice }
    };
    let told = notice(enough_here(limits.chat)).filter(|_| role != Role::Bot);
    let chat = Limit { of: Counts::Chat, rate: limits.chat, notice: told };
    Door::Counted { by, place: inbound.place(account), limits: vec![own, chat] }
}

fn enough(rate: Rate) -> String {
    format!(
        "I answer you {rate}, and these are used up. I read what you write, and answer again later."
    )
}

fn enough_here(rate: Rate) -> String {
    format!(
        "I answer {rate} in this chat, and these are used up. I read along, and answer again later."
    )
}

/// A stranger at the door: in a DM they may get a line with a code.
pub(super) fn knock(account: &AccountId, inbound: &Inbound, now: DateTime<Utc>) -> Door {
    let asks = inbound.kind == ChatKind::Direct && !inbound.sender.is_bot;
    let Some(person) = inbound.sender.person.clone().filter(|_| asks) else { return Door::Open };
    let code = new_pairing_code();
    let text = format!(
        "I do not know you yet. Give my owner this code within an hour, and they let you in with \
         `/allow {code}`.\n\n{code}"
    );
    Door::Knock(PairingRequest {
        person,
        name: harmless_name(&inbound.sender.name),
        code_hash: pairing_hash(&code),
        expires: now + TimeDelta::minutes(MINUTES),
        line: NewDelivery::notice(inbound.place(account), text),
    })
}

/// What somebody is told who is known and may not do this here. A bot is told nothing.
pub(super) fn refusal(role: Role, action: Action) -> Option<&'static str> {
    match (role, action) {
        (Role::Bot | Role::Stranger, _) => None,
        (Role::Owner | Role::Decider, _) => {
            Some("Who waits and who was let in I tell in our private chat alone.")
        }
        (Role::Guest, _) => Some("Only the owner, and those who decide with them, may do this."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::may;

    #[test]
    fn whoever_is_known_and_may_not_is_told_so() {
        use Action::{Allow, Decide, Guests, Look, Stop, Talk};
        for role in [Role::Owner, Role::Decider, Role::Guest] {
            for place in [ChatKind::Direct, ChatKind::Group] {
                for action in [Talk, Look, Stop, Allow, Guests, Decide] {
                    assert!(may(role, place, action) || refusal(role, action).is_some());
                }
            }
        }
    }
}
