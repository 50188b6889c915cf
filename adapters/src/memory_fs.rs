//! Memory files on a disk: locks, exchange, sync.
