//! The `memory` tool: the owner's profile and the bot's notes.
