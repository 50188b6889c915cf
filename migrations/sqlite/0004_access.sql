-- Who may talk besides the owner: what counts against a limit, who asked to be let in, and who was.

-- Whose an event was that counts against a limit; the owner's never do. `limited` says which limit it
-- was over: then it was kept and not answered, and does not count.
ALTER TABLE inbox ADD COLUMN person TEXT;
ALTER TABLE inbox ADD COLUMN limited TEXT CHECK (limited IN ('person', 'chat'));
CREATE INDEX inbox_counted_person ON inbox (platform, person, at)
    WHERE person IS NOT NULL AND limited IS NULL;
CREATE INDEX inbox_counted_chat ON inbox (account, chat, at)
    WHERE person IS NOT NULL AND limited IS NULL;
CREATE INDEX inbox_limited_person ON inbox (platform, person, at) WHERE limited = 'person';
CREATE INDEX inbox_limited_chat ON inbox (account, chat, at) WHERE limited = 'chat';

-- Lines with a code that strangers were told; only the codes' hashes are kept. Open until the code
-- let somebody in, or gave way to a newer one.
CREATE TABLE pairing_requests (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    platform    TEXT    NOT NULL,
    person      TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    account     TEXT    NOT NULL,
    chat        TEXT    NOT NULL,
    code_hash   TEXT    NOT NULL,
    told_at     INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    open        INTEGER NOT NULL DEFAULT 1,
    accepted_at INTEGER
) STRICT;
CREATE INDEX pairing_requests_of_person ON pairing_requests (platform, person, told_at);
CREATE INDEX pairing_requests_of_code ON pairing_requests (code_hash);
CREATE INDEX pairing_requests_open ON pairing_requests (id) WHERE open = 1;

-- People who were let in by a code, and by whom; by nobody is the command line.
CREATE TABLE guests (
    platform    TEXT    NOT NULL,
    person      TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    since       INTEGER NOT NULL,
    by_platform TEXT,
    by_person   TEXT,
    PRIMARY KEY (platform, person)
) STRICT, WITHOUT ROWID;
