//! The terminal, a platform like the others.
