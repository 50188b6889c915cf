-- The main job: bots, what came in, fixed conversations and their turns, what goes out, memory.
--
-- Instants are INTEGER, microseconds since 1970, UTC. Words (standing, kind, ...) are TEXT as core
-- spells them. Columns with JSON say so. AUTOINCREMENT where a number is an identity that is never
-- given twice. Partial indexes hold only what is still to be done, so that looking for work costs
-- the same after a million messages.

-- 'Atla': tells the file from a database of another program.
PRAGMA application_id = 1098148961;

CREATE TABLE bots (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT    NOT NULL UNIQUE,
    created_at INTEGER NOT NULL
) STRICT;

-- One conversation for each bot and chat; account and chat are empty for the owner's direct one.
-- The claim stands in it: who holds it, and the fence that every commit must show.
CREATE TABLE conversations (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    bot_id         INTEGER NOT NULL REFERENCES bots (id),
    account        TEXT    NOT NULL,
    chat           TEXT    NOT NULL,
    audience       TEXT    NOT NULL CHECK (audience IN ('private', 'shared')),
    created_at     INTEGER NOT NULL,
    next_seq       INTEGER NOT NULL DEFAULT 1,
    said           INTEGER NOT NULL DEFAULT 0, -- messages, without the heads and copies of cuts
    holder         TEXT,
    held_until     INTEGER,
    fence          INTEGER NOT NULL DEFAULT 0,
    attempts       INTEGER NOT NULL DEFAULT 0,
    stop_requested INTEGER NOT NULL DEFAULT 0,
    UNIQUE (bot_id, account, chat)
) STRICT;
CREATE INDEX conversations_held ON conversations (holder) WHERE holder IS NOT NULL;

-- Where a bot was written to.
CREATE TABLE chats (
    bot_id         INTEGER NOT NULL REFERENCES bots (id),
    account        TEXT    NOT NULL,
    chat           TEXT    NOT NULL,
    platform       TEXT    NOT NULL,
    kind           TEXT    NOT NULL CHECK (kind IN ('direct', 'group')),
    name           TEXT,
    owner_wrote_at INTEGER, -- only in a direct chat
    PRIMARY KEY (bot_id, account, chat)
) STRICT, WITHOUT ROWID;
CREATE INDEX chats_of_account ON chats (account, chat);
CREATE INDEX chats_private ON chats (bot_id, owner_wrote_at) WHERE owner_wrote_at IS NOT NULL;

-- A stretch of a conversation; the one without closed_at is in front of the model.
CREATE TABLE episodes (
    bot_id          INTEGER NOT NULL REFERENCES bots (id),
    conversation_id INTEGER NOT NULL REFERENCES conversations (id),
    number          INTEGER NOT NULL,
    first_seq       INTEGER NOT NULL,
    archived_to     INTEGER,
    opened_at       INTEGER NOT NULL,
    closed_at       INTEGER,
    counted         TEXT,    -- JSON: the provider's last count in it
    counted_to      INTEGER, -- the last message that the count covers
    PRIMARY KEY (bot_id, conversation_id, number)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX episodes_open ON episodes (conversation_id) WHERE closed_at IS NULL;

CREATE TABLE turns (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    bot_id          INTEGER NOT NULL REFERENCES bots (id),
    conversation_id INTEGER NOT NULL REFERENCES conversations (id),
    standing        TEXT    NOT NULL CHECK (standing IN ('owner', 'guest', 'stranger')),
    opened_at       INTEGER NOT NULL,
    ended_at        INTEGER,
    ended           TEXT CHECK (ended IN ('done', 'stopped', 'failed')),
    notes           TEXT    NOT NULL -- JSON
) STRICT;
CREATE UNIQUE INDEX turns_open ON turns (conversation_id) WHERE ended_at IS NULL;

CREATE TABLE messages (
    bot_id          INTEGER NOT NULL REFERENCES bots (id),
    conversation_id INTEGER NOT NULL REFERENCES conversations (id),
    seq             INTEGER NOT NULL,
    turn_id         INTEGER REFERENCES turns (id),
    at              INTEGER NOT NULL,
    carried         INTEGER NOT NULL DEFAULT 0, -- put there by a cut (head and copies): never searched
    body            TEXT    NOT NULL, -- JSON
    PRIMARY KEY (bot_id, conversation_id, seq)
) STRICT, WITHOUT ROWID;

-- Every event, once, and what is still to be done with it: open while it waits (turn_id is NULL)
-- or belongs to the turn that is at work. The payload stands last, since it is hardly ever read.
CREATE TABLE inbox (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    account         TEXT    NOT NULL,
    key             TEXT    NOT NULL,
    platform        TEXT    NOT NULL,
    accepted_by     TEXT    NOT NULL,
    at              INTEGER NOT NULL,
    kind            TEXT    NOT NULL
        CHECK (kind IN ('turn', 'observed', 'command', 'note', 'moved', 'ignored', 'unreadable')),
    open            INTEGER NOT NULL,
    bot_id          INTEGER REFERENCES bots (id),
    conversation_id INTEGER REFERENCES conversations (id),
    turn_id         INTEGER REFERENCES turns (id),
    settled_at      INTEGER,
    chat            TEXT,
    standing        TEXT CHECK (standing IN ('owner', 'guest', 'stranger')),
    place_order     INTEGER, -- the platform's order within the chat
    inbound         TEXT,    -- JSON
    line            TEXT,    -- a note's line; why the event was left alone; that a command stopped it
    raw             TEXT    NOT NULL,
    UNIQUE (account, key)
) STRICT;
CREATE INDEX inbox_openers ON inbox (conversation_id, accepted_by, account)
    WHERE open = 1 AND turn_id IS NULL AND kind = 'turn';
CREATE INDEX inbox_pending ON inbox (conversation_id, id)
    WHERE open = 1 AND turn_id IS NULL AND kind <> 'command';
CREATE INDEX inbox_commands ON inbox (id) WHERE open = 1 AND kind = 'command';
CREATE INDEX inbox_at_work ON inbox (turn_id, account, chat)
    WHERE open = 1 AND turn_id IS NOT NULL;
CREATE INDEX inbox_open_places ON inbox (account, chat) WHERE open = 1;

-- Messages on their way out, in order for each chat. attempted_at is the try under way;
-- unknown_since is the first try that may have arrived.
CREATE TABLE outbox (
    position        INTEGER PRIMARY KEY AUTOINCREMENT,
    id              BLOB    NOT NULL UNIQUE,
    account         TEXT    NOT NULL,
    chat            TEXT    NOT NULL,
    kind            TEXT    NOT NULL CHECK (kind IN ('answer', 'failure', 'notice')),
    silent          INTEGER NOT NULL,
    conversation_id INTEGER REFERENCES conversations (id),
    created_at      INTEGER NOT NULL,
    due_at          INTEGER NOT NULL,
    open            INTEGER NOT NULL DEFAULT 1,
    holder          TEXT,
    fence           INTEGER NOT NULL DEFAULT 0,
    attempts        INTEGER NOT NULL DEFAULT 0,
    attempted_at    INTEGER,
    unknown_since   INTEGER,
    settled_at      INTEGER,
    outcome         TEXT CHECK (outcome IN ('sent', 'closed')),
    reason          TEXT,
    sent            TEXT    NOT NULL DEFAULT '[]', -- JSON: the platform's ids of the parts
    text            TEXT    NOT NULL
) STRICT;
CREATE INDEX outbox_open ON outbox (account, chat, position) WHERE open = 1;
CREATE INDEX outbox_held ON outbox (holder) WHERE holder IS NOT NULL;

CREATE TABLE usage (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    bot_id          INTEGER NOT NULL REFERENCES bots (id),
    conversation_id INTEGER NOT NULL REFERENCES conversations (id),
    turn_id         INTEGER REFERENCES turns (id),
    at              INTEGER NOT NULL,
    model           TEXT    NOT NULL,
    purpose         TEXT    NOT NULL,
    input           INTEGER NOT NULL,
    cached          INTEGER NOT NULL,
    cache_write     INTEGER NOT NULL,
    output          INTEGER NOT NULL
) STRICT;
CREATE INDEX usage_of_bot ON usage (bot_id, at);

-- Memory's intents and history refer to nothing, so that they outlive everything.
CREATE TABLE memory_intents (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    key             TEXT    NOT NULL UNIQUE,
    bot_id          INTEGER,
    conversation_id INTEGER,
    claim           TEXT, -- JSON
    path            TEXT    NOT NULL,
    origin          TEXT    NOT NULL,
    state           TEXT    NOT NULL CHECK (state IN ('open', 'applied', 'not_applied')),
    at              INTEGER NOT NULL,
    reply           TEXT    NOT NULL,
    before          TEXT,
    after           TEXT    NOT NULL
) STRICT;
CREATE INDEX memory_intents_open ON memory_intents (id) WHERE state = 'open';

CREATE TABLE memory_history (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    bot_id          INTEGER,
    conversation_id INTEGER,
    path            TEXT    NOT NULL,
    origin          TEXT    NOT NULL,
    at              INTEGER NOT NULL,
    before          TEXT,
    after           TEXT
) STRICT;
CREATE INDEX memory_history_of_file ON memory_history (path, id);

-- Codes that make their sender an owner; only their hashes are kept.
CREATE TABLE pairings (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    code_hash   TEXT    NOT NULL,
    offered_at  INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    open        INTEGER NOT NULL DEFAULT 1,
    platform    TEXT, -- of whoever redeemed it
    person      TEXT,
    redeemed_at INTEGER
) STRICT;
CREATE INDEX pairings_of_code ON pairings (code_hash);
CREATE INDEX pairings_open ON pairings (id) WHERE open = 1;

CREATE TABLE pairing_failures (
    platform TEXT    NOT NULL,
    person   TEXT    NOT NULL,
    at       INTEGER NOT NULL
) STRICT;
CREATE INDEX pairing_failures_of_person ON pairing_failures (platform, person, at);

CREATE TABLE owners (
    platform TEXT    NOT NULL,
    person   TEXT    NOT NULL,
    since    INTEGER NOT NULL,
    PRIMARY KEY (platform, person)
) STRICT, WITHOUT ROWID;

-- What was found out about a model's server.
CREATE TABLE models (
    signer       TEXT PRIMARY KEY,
    strict_roles INTEGER NOT NULL,
    found_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A row to write and read back.
CREATE TABLE probe (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    count INTEGER NOT NULL
) STRICT;
INSERT INTO probe (id, count) VALUES (1, 0);
