//! Memory: what it holds, how it is found, and the only way to write it.
