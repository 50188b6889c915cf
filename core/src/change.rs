//! A change of memory: one value, whoever asks for it.
