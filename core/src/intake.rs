//! The one door through which everything that starts work comes in. It decides where an event
//! belongs and who sent it, stores it once, and rings. What comes of it happens elsewhere.

mod backlog;

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::RwLock;

use crate::access::{
    Action, People, Role, Standing, looks_like_pairing_code, may, pairing_hash, role,
};
use crate::audience::Audience;
use crate::commands;
use crate::engine::Engine;
use crate::event::{Addressed, ChatKind, Envelope, Event, Inbound, Sender};
use crate::home::Home;
use crate::ids::{AccountId, BotId, ChatKey, Person, PlatformChat};
use crate::ports::{
    Accepted, ConversationKey, ConversationSpec, Disposition, Door, NewDelivery, NewInbox,
    Redeemed, StoreError,
};
use crate::router::{Answer, Route};

mod door;

/// What a new owner is told.
const WELCOME: &str = "You are the owner of this home now. Everything you write here reaches your bot; \
try it: say hello.";

/// The one door.
pub struct Intake {
    engine: Arc<Engine>,
    /// The owners of the database, read at the first event.
    paired: RwLock<Option<BTreeSet<Person>>>,
}

/// An event's end, as the intake decided it.
struct Decided {
    disposition: Disposition,
    deliveries: Vec<NewDelivery>,
    door: Door,
}

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
                // What waited in the new chat may have joined the older conversation.
                Disposition::Moved { .. } => bells.sweep.notify_one(),
                _ => {}
            }
            // What the door has told, only the store knows.
            if !row.deliveries.is_empty() || !matches!(row.door, Door::Open) {
                bells.outbox.notify_one();
            }
        }
    }

    async fn decide(&self, home: &Home, envelope: Envelope) -> Result<NewInbox, StoreError> {
        let Envelope { account, platform, key, raw, event } = envelope;
        let decided = match event {
            Event::Message(inbound) => self.message(home, &account, inbound).await?,
            Event::ChatMoved { from, to } => plain(Disposition::Moved { from, to }),
            Event::Nothing { kind } => ignored(&kind),
            Event::Unreadable { why } => {
                tracing::warn!(account = %account, why, "an event could not be read; it is kept, and read again after an upgrade");
                plain(Disposition::Unreadable { why })
            }
        };
        let Decided { disposition, deliveries, door } = decided;
        let (accepted_by, at) = (self.engine.presence.me().clone(), self.engine.clock.now());
        Ok(NewInbox { account, platform, key, raw, accepted_by, at, disposition, deliveries, door })
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
        let role = self.role(home, route, &inbound.sender).await?;
        if let Some(decided) = self.pairing(account, &inbound, role).await? {
            return Ok(decided);
        }
        Ok(self.placed(home, route, bot.id, account, role, inbound))
    }

    fn placed(
        &self,
        home: &Home,
        route: &Route,
        bot: BotId,
        account: &AccountId,
        role: Role,
        inbound: Inbound,
    ) -> Decided {
        if inbound.sender.is_bot && role == Role::Stranger {
            return ignored("written by a bot");
        }
        if inbound.text.trim().is_empty() {
            return ignored("nothing in it");
        }
        let standing = role.standing();
        let platform = self.engine.platforms.get(account);
        let chats_pass = platform.is_some_and(|platform| platform.capabilities().chats_pass);
        let to = conversation(home, bot, account, chats_pass, standing, &inbound);
        let speaks = inbound.addressed != Addressed::No || route.answer == Answer::All;
        if !speaks {
            // Only where the home chose to listen, or to somebody it knows.
            let listens = route.chat.is_some() || role != Role::Stranger;
            return if listens {
                plain(Disposition::Observed { to, standing, inbound })
            } else {
                ignored("said nearby by a stranger")
            };
        }
        let command = commands::action(&inbound);
        let action = command.unwrap_or(Action::Talk);
        if !may(role, inbound.kind, action) {
            return self.refused(home, account, role, action, &inbound);
        }
        let door = door::counted(home, account, role, action, &inbound);
        let disposition = if command.is_some() {
            Disposition::Command { to, standing, inbound }
        } else {
            Disposition::Turn { to, standing, inbound }
        };
        Decided { door, ..plain(disposition) }
    }

    /// Who is known and may not do this is told so; a stranger gets a line with a code, at times.
    fn refused(
        &self,
        home: &Home,
        account: &AccountId,
        role: Role,
        action: Action,
        inbound: &Inbound,
    ) -> Decided {
        if role == Role::Stranger {
            let door = door::knock(account, inbound, self.engine.clock.now());
            return Decided { door, ..ignored("from a stranger") };
        }
        let told = door::refusal(role, action).map(|text| NewDelivery {
            reply_to: inbound.as_command(),
            ..NewDelivery::notice(inbound.place(account), text)
        });
        // A refusal is an answer too, and costs as much as one.
        let door = door::counted(home, account, role, Action::Look, inbound);
        let deliveries = told.into_iter().collect();
        Decided { deliveries, door, ..ignored("they may not do this here") }
    }

    /// A pairing code in a DM of somebody who is no owner yet, or became one by this very code in a
    /// process that died before it could say so.
    async fn pairing(
        &self,
        account: &AccountId,
        inbound: &Inbound,
        role: Role,
    ) -> Result<Option<Decided>, StoreError> {
        let Some(person) = &inbound.sender.person else { return Ok(None) };
        let paired = self.paired.read().await.as_ref().is_some_and(|all| all.contains(person));
        let asks = inbound.kind == ChatKind::Direct
            && (role != Role::Owner || paired)
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
                    silent: false,
                    ..NewDelivery::notice(inbound.place(account), WELCOME)
                };
                let why = "a pairing code".to_owned();
                Ok(Some(Decided {
                    deliveries: vec![welcome],
                    ..plain(Disposition::Ignored { why })
                }))
            }
            Redeemed::Wrong => Ok(None),
            Redeemed::LockedOut => {
                tracing::warn!(account = %account, "somebody tried too many pairing codes and is locked out for an hour");
                Ok(None)
            }
        }
    }

    /// Who the sender is here. The store is asked for those alone whom the configuration does not know.
    async fn role(&self, home: &Home, route: &Route, sender: &Sender) -> Result<Role, StoreError> {
        let role = role(&self.people(home).await?, route, sender);
        let Some(person) = sender.person.as_ref().filter(|_| !sender.is_bot) else {
            return Ok(role);
        };
        let let_in = role == Role::Stranger && self.engine.store.is_guest(person).await?;
        Ok(if let_in { Role::Guest } else { role })
    }

    /// The people of the configuration and of the database, added up.
    async fn people(&self, home: &Home) -> Result<People, StoreError> {
        let (mut owners, deciders) = (home.owners.clone(), home.deciders.clone());
        if let Some(paired) = &*self.paired.read().await {
            owners.extend(paired.iter().cloned());
            return Ok(People { owners, deciders });
        }
        let paired: BTreeSet<Person> = self.engine.store.owners().await?.into_iter().collect();
        owners.extend(paired.iter().cloned());
        *self.paired.write().await = Some(paired);
        Ok(People { owners, deciders })
    }
}

fn ignored(why: &str) -> Decided {
    plain(Disposition::Ignored { why: why.to_owned() })
}

/// An end with nothing besides.
fn plain(disposition: Disposition) -> Decided {
    Decided { disposition, deliveries: Vec::new(), door: Door::Open }
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
