-- The message or interaction that a command's answer answers. A platform that has to answer an
-- interaction in its own way needs it after a restart too.
ALTER TABLE outbox ADD COLUMN reply_to TEXT;
