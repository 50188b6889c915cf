//! What every turn re-reads: who the bot is, and how it keeps its memory.
