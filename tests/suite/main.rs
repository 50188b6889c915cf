//! The suite: everything that needs the outside, as one binary.
