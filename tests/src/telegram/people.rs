//! Who and what stands behind the stand-in: people, chats, and the updates that they cause, in the
//! shapes that the Bot API gives them.

use serde_json::{Value, json};

/// A person, or a bot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Telegram's number of them. Also the number of their private chat.
    pub id: i64,
    /// First name.
    pub name: String,
    /// Another bot.
    pub is_bot: bool,
}

impl User {
    /// A person.
    #[must_use]
    pub fn new(id: i64, name: &str) -> Self {
        Self { id, name: name.to_owned(), is_bot: false }
    }

    /// As the API tells of them.
    pub(super) fn json(&self) -> Value {
        json!({
            "id": self.id, "is_bot": self.is_bot, "first_name": self.name,
            "username": format!("user{}", self.id), "language_code": "en",
        })
    }
}

/// A chat that the bot is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chat {
    /// Telegram's number of it: a person's own for a DM, negative for a group.
    pub id: i64,
    /// What it is.
    pub kind: Kind,
}

/// What a chat is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A DM with this person.
    Private(User),
    /// A group without topics.
    Group {
        /// Its name.
        title: String,
    },
    /// A group with topics.
    Forum {
        /// Its name.
        title: String,
        /// Threads that exist, besides the general one.
        topics: Vec<i64>,
    },
}

impl Chat {
    /// The DM of a person.
    #[must_use]
    pub fn dm(user: &User) -> Self {
        Self { id: user.id, kind: Kind::Private(user.clone()) }
    }

    /// A group.
    #[must_use]
    pub fn group(id: i64, title: &str) -> Self {
        Self { id, kind: Kind::Group { title: title.to_owned() } }
    }

    /// A group with these topics.
    #[must_use]
    pub fn forum(id: i64, title: &str, topics: &[i64]) -> Self {
        Self { id, kind: Kind::Forum { title: title.to_owned(), topics: topics.to_vec() } }
    }

    /// As the API tells of it.
    pub(super) fn json(&self) -> Value {
        match &self.kind {
            Kind::Private(user) => json!({
                "id": self.id, "type": "private", "first_name": user.name,
                "username": format!("user{}", user.id),
            }),
            Kind::Group { title } => json!({"id": self.id, "type": "supergroup", "title": title}),
            Kind::Forum { title, .. } => {
                json!({"id": self.id, "type": "supergroup", "title": title, "is_forum": true})
            }
        }
    }
}

/// A message on its way in, as it is put together.
#[derive(Clone, Debug)]
pub struct Draft {
    pub(super) chat: Chat,
    pub(super) body: Value,
    pub(super) kind: &'static str,
}

impl Draft {
    /// `user` writes `text` in `chat`. A command at its start gets its entity.
    #[must_use]
    pub fn text(chat: &Chat, user: &User, text: &str) -> Self {
        let mut body = json!({"from": user.json(), "chat": chat.json(), "text": text});
        if text.starts_with('/') {
            let command = text.split_whitespace().next().unwrap_or(text);
            body["entities"] = json!([entity("bot_command", 0, utf16(command))]);
        }
        Self { chat: chat.clone(), body, kind: "message" }
    }

    /// `user` writes something that is no text: `content` is the API's fields of it
    /// (`{"sticker": {…}}`).
    #[must_use]
    pub fn content(chat: &Chat, user: &User, content: &Value) -> Self {
        let mut draft = Self::text(chat, user, "");
        let body = draft.body.as_object_mut().expect("a message is an object");
        body.remove("text");
        for (key, value) in content.as_object().expect("content is an object") {
            body.insert(key.clone(), value.clone());
        }
        draft
    }

    /// In a topic of its forum.
    #[must_use]
    pub fn in_topic(mut self, thread: i64) -> Self {
        self.body["message_thread_id"] = json!(thread);
        self.body["is_topic_message"] = json!(true);
        self
    }

    /// Marks every `@name` in it as a mention, offsets in UTF-16 units.
    #[must_use]
    pub fn mentioning(mut self, name: &str) -> Self {
        let text = self.body["text"].as_str().expect("a text message").to_owned();
        let entities: Vec<Value> = text
            .match_indices(name)
            .map(|(at, found)| entity("mention", utf16(&text[..at]), utf16(found)))
            .collect();
        assert!(!entities.is_empty(), "{name} does not stand in the message");
        self.body["entities"] = Value::Array(entities);
        self
    }

    /// As a reply to `message`, given whole as the API gives it.
    #[must_use]
    pub fn reply_to(mut self, message: &Value) -> Self {
        self.body["reply_to_message"] = message.clone();
        self
    }

    /// Written by an anonymous admin: the group speaks.
    #[must_use]
    pub fn anonymous(mut self) -> Self {
        self.body["from"] = json!({
            "id": 1_087_968_824_i64, "is_bot": true, "first_name": "Group",
            "username": "GroupAnonymousBot",
        });
        self.body["sender_chat"] = self.chat.json();
        self
    }

    /// With any other field of the API.
    #[must_use]
    pub fn with(mut self, key: &str, value: Value) -> Self {
        self.body[key] = value;
        self
    }

    /// As an update of another kind: `edited_message`, `channel_post`.
    #[must_use]
    pub fn as_kind(mut self, kind: &'static str) -> Self {
        self.kind = kind;
        self
    }
}

/// A text's length in Telegram's units.
#[must_use]
pub fn utf16(text: &str) -> usize {
    text.encode_utf16().count()
}

fn entity(kind: &str, offset: usize, length: usize) -> Value {
    json!({"type": kind, "offset": offset, "length": length})
}
