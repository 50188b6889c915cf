//! The one door through which everything that starts work comes in. It decides where an event
//! belongs and who sent it, stores it once, and rings. What comes of it happens elsewhere.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::RwLock;

use crate::access::{
    Action, People, Standing, looks_like_pairing_code, may, pairing_hash, standing,
};
use crate::audience::Audience;
use crate::commands;
use crate::engine::Engine;
use crate::event::{Addressed, ChatKind, Envelope, Event, Inbound};
use crate::home::Home;
use crate::ids::{AccountId, BotId, ChatKey, DeliveryId, Person, PlatformChat};
use crate::ports::{
    Accepted, ConversationKey, ConversationSpec, DeliveryKind, Disposition, NewDelivery, NewInbox,
    Redeemed, StoreError,
};
use crate::router::{Answer, Route};

/// What a new owner is told.
const WELCOME: &str = "You are the owner of this home now. Everything you write here reaches your bot; \
try it: say hello.";

/// The one door.
pub struct Intake {
    engine: Arc<Engine>,
    /// The owners of the database, read at the first event.
    paired: RwLock<Option<BTreeSet<Person>>>,
}

/// An event's end, as the door decided it.
type Decided = (Disposition, Vec<NewDelivery>);

impl Intake {
    /// The door of this engine.
    #[must_use]
    pub fn new(engine: Arc<Engine>) -> Self {
        Self { engine, paired: RwLock::default() }
    }

    /// Stores events, all or none, and wakes whoever has work now. Only after it has returned may a
    /// platform be told that they were received.
    ///
    /// # Errors
    ///
    /// [`StoreError`]: nothing was stored; the caller tries again and drops nothing.
    pub async fn accept(&self, events: Vec<Envelope>) -> Result<Vec<Accepted>, StoreError> {
        let home = self.engine.home();
        let mut rows = Vec::with_capacity(events.len());
        for event in events {
            rows.push(self.decide(&home, event).await?);
        }
        let accepted = self.engine.store.accept(&rows).await?;
        self.ring(&rows, &accepted);
        Ok(accepted)
    }

    fn ring(&self, rows: &[NewInbox], accepted: &[Accepted]) {
        let bells = &self.engine.bells;
        for (row, accepted) in rows.iter().zip(accepted) {
            let Accepted::Stored { conversation, .. } = accepted else { continue };
            match &row.disposition {
                Disposition::Turn { .. } => {
                    if let Some(id) = conversation {
                        bells.call(*id);
                    }
                }
                Disposition::Command { .. } => bells.commands.notify_one(),
                _ => {}
            }
            if !row.deliveries.is_empty() {
                bells.outbox.notify_one();
            }
        }
    }

    async fn decide(&self, home: &Home, envelope: Envelope) -> Result<NewInbox, StoreError> {
        let Envelope { account, platform, key, raw, event } = envelope;
        let (disposition, deliveries) = match event {
            Event::Message(inbound) => self.message(home, &account, inbound).await?,
            Event::ChatMoved { from, to } => (Disposition::Moved { from, to }, Vec::new()),
            Event::Nothing { kind } => ignored(&kind),
            Event::Unreadable { why } => {
                tracing::warn!(account = %account, why, "an event could not be read; it is kept, and read again after an upgrade");
                (Disposition::Unreadable { why }, Vec::new())
            }
        };
        let (accepted_by, at) = (self.engine.presence.me().clone(), self.engine.clock.now());
        Ok(NewInbox { account, platform, key, raw, accepted_by, at, disposition, deliveries })
    }

    async fn message(
        &self,
        home: &Home,
        account: &AccountId,
        inbound: Inbound,
    ) -> Result<Decided, StoreError> {
        let Some(route) = home.router.find(account, &inbound.lineage) else {
            return Ok(ignored("no route leads here"));
        };
        let Some(bot) = home.bot_named(&route.bot) else {
            return Ok(ignored("the route's bot is gone"));
        };
        let standing = standing(&self.people(home).await?, route, &inbound.sender);
        if let Some(decided) = self.pairing(account, &inbound, standing).await? {
            return Ok(decided);
        }
        Ok((self.placed(home, route, bot.id, account, standing, inbound), Vec::new()))
    }

    fn placed(
        &self,
        home: &Home,
        route: &Route,
        bot: BotId,
        account: &AccountId,
        standing: Standing,
        inbound: Inbound,
    ) -> Disposition {
        let why = |why: &str| Disposition::Ignored { why: why.to_owned() };
        if inbound.sender.is_bot {
            return why("written by a bot");
        }
        if inbound.text.trim().is_empty() {
            return why("nothing in it");
        }
        let platform = self.engine.platforms.get(account);
        let chats_pass = platform.is_some_and(|platform| platform.capabilities().chats_pass);
        let to = conversation(home, bot, account, chats_pass, standing, &inbound);
        let speaks = inbound.addressed != Addressed::No || route.answer == Answer::All;
        if !speaks {
            // Only where the home chose to listen, or to somebody it knows.
            let listens = route.chat.is_some() || standing != Standing::Stranger;
            return if listens {
                Disposition::Observed { to, standing, inbound }
            } else {
                why("said nearby by a stranger")
            };
        }
        match commands::action(&inbound) {
            Some(action) if may(standing, action) => Disposition::Command { to, standing, inbound },
            None if may(standing, Action::Talk) => Disposition::Turn { to, standing, inbound },
            _ => why("from a stranger"),
        }
    }

    /// A pairing code in a DM of somebody who is no owner yet, or became one by this very code in a
    /// process that died before it could say so.
    async fn pairing(
        &self,
        account: &AccountId,
        inbound: &Inbound,
        standing: Standing,
    ) -> Result<Option<Decided>, StoreError> {
        let Some(person) = &inbound.sender.person else { return Ok(None) };
        let paired = self.paired.read().await.as_ref().is_some_and(|all| all.contains(person));
        let asks = inbound.kind == ChatKind::Direct
            && (standing != Standing::Owner || paired)
            && !inbound.sender.is_bot
            && looks_like_pairing_code(&inbound.text);
        if !asks {
            return Ok(None);
        }
        let (hash, now) = (pairing_hash(&inbound.text), self.engine.clock.now());
        match self.engine.store.redeem_pairing(&hash, person, now).await? {
            Redeemed::Owner => {
                *self.paired.write().await = None;
                tracing::info!(account = %account, "somebody became the owner by a pairing code");
                let welcome = NewDelivery {
                    id: DeliveryId::new(),
                    to: inbound.place(account),
                    text: WELCOME.to_owned(),
                    silent: false,
                    kind: DeliveryKind::Notice,
                    conversation: None,
                    reply_to: None,
                };
                let why = "a pairing code".to_owned();
                Ok(Some((Disposition::Ignored { why }, vec![welcome])))
            }
            Redeemed::Wrong => Ok(None),
            Redeemed::LockedOut => {
                tracing::warn!(account = %account, "somebody tried too many pairing codes and is locked out for an hour");
                Ok(None)
            }
        }
    }

    /// The owners of the configuration and of the database, added up.
    async fn people(&self, home: &Home) -> Result<People, StoreError> {
        let mut owners = home.owners.clone();
        if let Some(paired) = &*self.paired.read().await {
            owners.extend(paired.iter().cloned());
            return Ok(People { owners });
        }
        let paired: BTreeSet<Person> = self.engine.store.owners().await?.into_iter().collect();
        owners.extend(paired.iter().cloned());
        *self.paired.write().await = Some(paired);
        Ok(People { owners })
    }
}

fn ignored(why: &str) -> Decided {
    (Disposition::Ignored { why: why.to_owned() }, Vec::new())
}

/// The conversation that a message belongs to.
fn conversation(
    home: &Home,
    bot: BotId,
    account: &AccountId,
    chats_pass: bool,
    standing: Standing,
    inbound: &Inbound,
) -> ConversationSpec {
    let owner_s_own = inbound.kind == ChatKind::Direct && standing == Standing::Owner;
    let audience = if owner_s_own { Audience::Private } else { Audience::Shared };
    let key = if owner_s_own && home.join_direct {
        ConversationKey::Direct
    } else if owner_s_own && chats_pass {
        // Named by the account, which stays.
        let chat = PlatformChat(account.as_str().to_owned());
        ConversationKey::Chat(ChatKey { account: account.clone(), chat })
    } else {
        ConversationKey::Chat(inbound.place(account))
    };
    ConversationSpec { bot, key, audience }
}
