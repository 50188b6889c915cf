//! What every store must do. Each function is one fact, and has a fresh database for itself.
//!
//! [`store_contract!`](crate::store_contract) makes one test of each, so that a second database is
//! one more call of it.

use std::sync::Arc;

use anyhow::{Context, Result};
use async_trait::async_trait;
use atlas_core::access::Standing;
use atlas_core::audience::Audience;
use atlas_core::event::{Addressed, ChatKind, CommandLine, Inbound, Sender};
use atlas_core::ids::{
    AccountId, BotId, ChatKey, ConversationId, DeliveryId, HolderId, InboxId, Person, PlatformChat,
    Seq,
};
use atlas_core::message::{Body, Message, Part};
use atlas_core::ports::{
    Accepted, Claim, ConversationKey, ConversationSpec, DeliveryKind, Disposition, Door,
    NewDelivery, NewInbox, NewTurn, OpenTurn, StepCommit, Store, TurnNotes,
};
use chrono::{DateTime, TimeDelta, Utc};

pub mod access;
pub mod claims;
pub mod memory;
pub mod people;
pub mod turns;
pub mod way_in;
pub mod way_out;

/// A database of its own that several processes can open.
#[async_trait]
pub trait Database: Send + Sync {
    /// Opens it as another process would.
    ///
    /// # Errors
    ///
    /// When it cannot be opened.
    async fn open(&self) -> Result<Arc<dyn Store>>;
}

/// Makes a test of each fact. `$make` gives a [`Database`], by its whole path.
#[macro_export]
macro_rules! store_contract {
    ($make:expr) => {
        $crate::store_contract!(@of $make, people:
            a_bot_keeps_its_number,
            a_code_makes_its_sender_an_owner_once,
            a_code_has_its_time_and_only_the_last_one_counts,
            five_wrong_codes_lock_their_sender_out_for_an_hour,
            strict_roles_are_never_forgotten,
        );
        $crate::store_contract!(@of $make, access:
            a_stranger_is_told_one_code_a_day,
            of_those_who_wait_the_oldest_of_three_gives_way,
            a_code_lets_its_person_in_once,
            a_strangers_code_has_its_time,
            five_wrong_codes_of_strangers_lock_their_sender_out,
            a_guest_can_be_put_out_again,
            over_a_limit_a_message_is_kept_and_not_answered,
            a_limit_is_a_person_s_wherever_they_write,
            a_chat_has_a_limit_of_its_own,
            a_command_over_a_limit_is_ignored,
            a_window_looks_at_no_older_message,
        );
        $crate::store_contract!(@of $make, way_in:
            an_event_is_stored_once,
            a_duplicate_changes_nothing,
            events_are_stored_all_or_none,
            what_nobody_answers_is_kept_without_a_conversation,
            a_conversation_becomes_shared_and_never_private_again,
            answers_without_a_turn_go_out_once,
            a_command_is_answered_once,
            a_command_can_stop_only_an_open_turn,
            what_was_said_before_a_stop_opens_a_turn_that_ends,
            the_private_place_is_the_owner_s_last_direct_chat,
            a_chat_that_moves_takes_everything_along,
            a_chat_written_in_before_its_move_joins_the_older_conversation,
            writers_who_fail_undo_nothing_of_the_others,
            text_of_any_kind_comes_back_as_it_was,
            cursors_move_forward_only_and_are_their_accounts_own,
        );
        $crate::store_contract!(@of $make, claims:
            a_claim_is_one_holder_s,
            two_processes_never_claim_the_same,
            an_older_fence_is_refused_everywhere,
            attempts_count_until_a_step_is_committed,
            a_clean_release_takes_the_attempt_back,
            a_dead_process_loses_what_it_held,
            the_last_step_gives_the_claim_back_where_nothing_waits,
            a_claim_tells_how_the_conversation_stands,
        );
        $crate::store_contract!(@of $make, turns:
            messages_are_numbered_without_gaps,
            what_is_known_is_not_loaded_again,
            a_turn_takes_its_rows_once,
            one_turn_is_open_at_a_time,
            a_step_that_fails_leaves_nothing,
            a_turn_that_ends_closes_its_rows,
            a_step_remembers_notes_and_counts,
            a_request_to_stop_is_taken_back,
            waiting_rows_come_in_order,
            of_lines_said_nearby_only_the_newest_wait,
            open_work_is_what_opens_a_turn_or_stands_open,
            a_cut_begins_a_new_episode,
            a_cut_counts_as_nothing_new_said,
            places_of_an_open_turn_are_at_work,
            a_turn_that_nobody_holds_is_not_at_work,
        );
        $crate::store_contract!(@of $make, way_out:
            a_chat_s_line_goes_head_first,
            a_head_that_waits_holds_up_its_own_chat_only,
            a_claimed_head_is_nobody_else_s,
            other_accounts_are_left_alone,
            the_longest_waiting_chats_come_first,
            a_try_that_was_never_settled_may_have_arrived,
            a_doubt_stays_until_the_part_arrives,
            what_is_given_back_counts_as_no_try,
            parts_that_arrived_are_remembered,
            a_stale_claim_settles_nothing,
            a_closed_delivery_tells_the_bot_and_the_owner_once,
            what_is_left_over_comes_whole,
            a_terminal_claims_only_its_own_chat,
            what_was_decided_before_the_clock_was_set_back_is_due,
            a_place_is_quiet_when_nothing_is_under_way,
        );
        $crate::store_contract!(@of $make, memory:
            an_intent_is_stored_once_for_its_key,
            an_intent_of_an_old_claim_is_refused,
            an_intent_that_did_not_happen_gives_way,
            an_open_intent_can_be_redone,
            history_is_written_with_the_settlement_once,
            another_process_s_commit_is_noticed,
            a_check_writes_and_reads,
        );
    };
    (@of $make:expr, $part:ident: $($fact:ident),+ $(,)?) => {
        mod $part {
            $(
                #[tokio::test]
                async fn $fact() -> anyhow::Result<()> {
                    $crate::contract::store::$part::$fact(&$make).await
                }
            )+
        }
    };
}

/// An instant, so many seconds into the story.
#[must_use]
pub fn second(n: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::seconds(1_800_000_000 + n)
}

/// A process.
#[must_use]
pub fn process(name: &str) -> HolderId {
    HolderId(name.to_owned())
}

/// The account of the story.
#[must_use]
pub fn account() -> AccountId {
    AccountId("tg".to_owned())
}

/// A chat of the account.
#[must_use]
pub fn chat(name: &str) -> ChatKey {
    ChatKey { account: account(), chat: PlatformChat(name.to_owned()) }
}

/// The owner.
#[must_use]
pub fn owner() -> Person {
    Person { platform: "telegram".into(), id: "5".into() }
}

/// A message of the owner's in a direct chat, the `order`th there.
#[must_use]
pub fn inbound(place: &str, order: i64) -> Inbound {
    Inbound {
        lineage: vec![place.into()],
        kind: ChatKind::Direct,
        chat_name: Some("Ada".to_owned()),
        message: order.to_string().into(),
        order,
        sender: Sender { person: Some(owner()), name: "Ada".to_owned(), is_bot: false },
        text: format!("message {order}"),
        outside: false,
        files: Vec::new(),
        addressed: Addressed::Directly,
        command: None,
        sent_at: second(order),
    }
}

/// The bot's conversation with a chat.
#[must_use]
pub fn conversation_with(bot: BotId, place: &str) -> ConversationSpec {
    let key = ConversationKey::Chat(chat(place));
    ConversationSpec { bot, key, audience: Audience::Private }
}

/// An event of this disposition.
#[must_use]
pub fn event(key: &str, disposition: Disposition) -> NewInbox {
    NewInbox {
        account: account(),
        platform: "telegram".into(),
        key: key.to_owned(),
        raw: format!("{{\"update\":\"{key}\"}}"),
        accepted_by: process("one"),
        at: second(0),
        disposition,
        deliveries: Vec::new(),
        door: Door::Open,
    }
}

/// The owner's message as an event that opens a turn.
#[must_use]
pub fn said(bot: BotId, place: &str, order: i64) -> NewInbox {
    let to = conversation_with(bot, place);
    let inbound = inbound(place, order);
    let disposition = Disposition::Turn { to, standing: Standing::Owner, inbound };
    event(&format!("{place}/{order}"), disposition)
}

/// A command of the owner's.
#[must_use]
pub fn commanded(bot: BotId, place: &str, order: i64, name: &str) -> NewInbox {
    let to = conversation_with(bot, place);
    let command = Some(CommandLine { name: name.to_owned(), rest: String::new() });
    let inbound = Inbound { command, ..inbound(place, order) };
    let disposition = Disposition::Command { to, standing: Standing::Owner, inbound };
    event(&format!("{place}/{order}"), disposition)
}

/// A line that was said nearby.
#[must_use]
pub fn observed(bot: BotId, place: &str, order: i64) -> NewInbox {
    let to = conversation_with(bot, place);
    let inbound = Inbound { kind: ChatKind::Group, ..inbound(place, order) };
    let disposition = Disposition::Observed { to, standing: Standing::Guest, inbound };
    event(&format!("{place}/{order}"), disposition)
}

/// An answer for a chat.
#[must_use]
pub fn answer(place: &str, text: &str) -> NewDelivery {
    NewDelivery {
        id: DeliveryId::new(),
        to: chat(place),
        text: text.to_owned(),
        silent: false,
        kind: DeliveryKind::Answer,
        conversation: None,
        reply_to: None,
    }
}

/// What a model is told, as one note.
#[must_use]
pub fn told(text: &str) -> Body {
    Body::User { parts: vec![Part::Note { text: text.to_owned() }] }
}

/// A step that says and does nothing.
#[must_use]
pub fn step(claim: &Claim, turn: &OpenTurn) -> StepCommit {
    StepCommit {
        claim: claim.clone(),
        turn: turn.id,
        at: second(20),
        messages: Vec::new(),
        taken: Vec::new(),
        deliveries: Vec::new(),
        usage: None,
        notes: TurnNotes::default(),
        end: None,
        give_back: false,
    }
}

/// A database with one bot in it.
pub struct Story {
    /// The store of the process `one`.
    pub store: Arc<dyn Store>,
    /// The bot.
    pub bot: BotId,
}

impl Story {
    /// Opens the database and takes up the bot.
    ///
    /// # Errors
    ///
    /// When the store fails.
    pub async fn begin(database: &dyn Database) -> Result<Self> {
        let store = database.open().await?;
        let bots = store.take_up_bots(&["atlas".into()], second(0)).await?;
        let bot = bots.first().context("the bot was not taken up")?.1;
        Ok(Self { store, bot })
    }

    /// Stores one event that was not there before.
    ///
    /// # Errors
    ///
    /// When the store fails, or had the event.
    pub async fn accept(&self, event: NewInbox) -> Result<(InboxId, Option<ConversationId>)> {
        let key = event.key.clone();
        match self.store.accept(&[event]).await?.first() {
            Some(Accepted::Stored { inbox, conversation }) => Ok((*inbox, *conversation)),
            other => anyhow::bail!("event {key} was not stored: {other:?}"),
        }
    }

    /// Stores a message of the owner's.
    ///
    /// # Errors
    ///
    /// When the store fails.
    pub async fn say(&self, place: &str, order: i64) -> Result<(InboxId, ConversationId)> {
        let (inbox, conversation) = self.accept(said(self.bot, place, order)).await?;
        Ok((inbox, conversation.context("a message belongs to a conversation")?))
    }

    /// Claims a conversation that is free.
    ///
    /// # Errors
    ///
    /// When the store fails or somebody holds it.
    pub async fn claim(&self, conversation: ConversationId, holder: &str) -> Result<Claim> {
        let claim = self.store.claim(conversation, &process(holder), second(60), Seq(0)).await?;
        let claimed = claim.with_context(|| format!("conversation {conversation} is held"))?;
        Ok(claimed.claim)
    }

    /// Opens a turn of these rows.
    ///
    /// # Errors
    ///
    /// When the store fails.
    pub async fn open(&self, claim: &Claim, taken: &[InboxId]) -> Result<(OpenTurn, Message)> {
        let turn = NewTurn {
            claim: claim.clone(),
            standing: Standing::Owner,
            taken: taken.to_vec(),
            body: told("what was said"),
            notes: TurnNotes::default(),
            at: second(10),
        };
        let opened = self.store.open_turn(&turn).await?;
        Ok((opened.turn, opened.message))
    }
}
