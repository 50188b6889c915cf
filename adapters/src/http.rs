//! The HTTP client: one set-up for every adapter that calls out.
