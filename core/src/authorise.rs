//! Who may write memory: one pure table.
