//! Language models, one file a dialect.
