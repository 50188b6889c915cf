-- How far the history of a chat was read, on platforms that keep one. Live messages do not move it.
CREATE TABLE cursors (
    account    TEXT    NOT NULL,
    chat       TEXT    NOT NULL,
    kind       TEXT    NOT NULL CHECK (kind IN ('direct', 'group')),
    read_up_to INTEGER NOT NULL, -- by the platform's order of messages
    PRIMARY KEY (account, chat)
) STRICT;
