//! Between rows and core's words: how instants, words and JSON stand in a column, and how a row that
//! cannot be read is told of. Knows no table.

use std::fmt::Display;

use atlas_core::access::Standing;
use atlas_core::audience::Audience;
use atlas_core::event::ChatKind;
use atlas_core::ids::{ChatKey, DeliveryId};
use atlas_core::ports::{Counts, DeliveryKind, IntentState, Origin, StoreError, TurnEnd};
use chrono::{DateTime, SubsecRound, Utc};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::sqlite::SqliteRow;
use sqlx::{Decode, Row, Sqlite, Type};

/// A closed enum of core's, as a word in a column.
pub(super) trait Word: Copy + Sized + 'static {
    /// Every value with its word.
    const WORDS: &'static [(Self, &'static str)];

    /// The word of a value.
    fn word(self) -> &'static str;

    /// The value of a word.
    fn of(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(_, known)| *known == word).map(|(value, _)| *value)
    }
}

macro_rules! words {
    ($($name:ident { $($variant:ident = $word:literal),+ $(,)? })+) => {$(
        impl Word for $name {
            const WORDS: &'static [(Self, &'static str)] = &[$((Self::$variant, $word)),+];

            fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }
    )+};
}

words! {
    Standing { Owner = "owner", Guest = "guest", Stranger = "stranger" }
    Counts { Person = "person", Chat = "chat" }
    Audience { Private = "private", Shared = "shared" }
    ChatKind { Direct = "direct", Group = "group" }
    TurnEnd { Done = "done", Stopped = "stopped", Failed = "failed" }
    DeliveryKind { Answer = "answer", Failure = "failure", Notice = "notice" }
    IntentState { Open = "open", Applied = "applied", NotApplied = "not_applied" }
    Origin {
        Tool = "tool",
        Review = "review",
        Approval = "approval",
        Undo = "undo",
        CommandLine = "command_line",
        HandEdit = "hand_edit",
    }
}

/// An instant as a column holds it: microseconds since 1970, UTC.
pub(super) fn micros(at: DateTime<Utc>) -> i64 {
    at.timestamp_micros()
}

/// An instant as it will be read again.
pub(super) fn as_stored(at: DateTime<Utc>) -> DateTime<Utc> {
    at.trunc_subsecs(6)
}

/// A value as a column of JSON holds it.
pub(super) fn json<T: Serialize + ?Sized>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .map_err(|error| StoreError::Failed(format!("a value cannot be stored as JSON: {error}")))
}

/// A number of core's as a column holds it. What is too large for a column stands as the largest.
pub(super) fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// An instant of a column, or what is wrong with it.
pub(super) fn instant(micros: i64) -> Result<DateTime<Utc>, String> {
    DateTime::from_timestamp_micros(micros).ok_or_else(|| format!("{micros} is no instant"))
}

/// JSON of a column, or what is wrong with it: where it breaks, never what stands there.
pub(super) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| {
        let (kind, at) = (error.classify(), error.column());
        format!("its JSON cannot be read ({kind:?} error at column {at})")
    })
}

/// What is wrong with a row.
pub(super) fn bad(table: &str, id: impl Display, column: &str, why: impl Display) -> StoreError {
    StoreError::Failed(format!("row {id} of table {table}: column {column}: {why}"))
}

/// A row, with the name it goes by in an error.
pub(super) struct Record<'r> {
    row: &'r SqliteRow,
    table: &'static str,
    id: String,
}

impl<'r> Record<'r> {
    /// The row of this table whose column `id` names it.
    pub(super) fn new(row: &'r SqliteRow, table: &'static str) -> Result<Self, StoreError> {
        let unnamed = Self { row, table, id: String::from("?") };
        let id: i64 = unnamed.get("id")?;
        Ok(Self { id: id.to_string(), ..unnamed })
    }

    /// A row of this table that is known by something else.
    pub(super) fn named(row: &'r SqliteRow, table: &'static str, id: impl Display) -> Self {
        Self { row, table, id: id.to_string() }
    }

    /// What is wrong with the row.
    pub(super) fn bad(&self, column: &str, why: impl Display) -> StoreError {
        bad(self.table, &self.id, column, why)
    }

    /// A column as it is.
    pub(super) fn get<T>(&self, column: &str) -> Result<T, StoreError>
    where
        T: Decode<'r, Sqlite> + Type<Sqlite>,
    {
        self.row.try_get(column).map_err(|error| self.bad(column, error))
    }

    /// A column of text as one of core's opaque names.
    pub(super) fn name<T: From<String>>(&self, column: &str) -> Result<T, StoreError> {
        Ok(T::from(self.get::<String>(column)?))
    }

    /// A column of text that may be empty.
    pub(super) fn maybe_name<T: From<String>>(
        &self,
        column: &str,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.get::<Option<String>>(column)?.map(T::from))
    }

    /// A chat: the columns `account` and `chat`.
    pub(super) fn place(&self) -> Result<ChatKey, StoreError> {
        Ok(ChatKey { account: self.name("account")?, chat: self.name("chat")? })
    }

    /// A delivery's id.
    pub(super) fn delivery(&self, column: &str) -> Result<DeliveryId, StoreError> {
        self.get(column).map(DeliveryId)
    }

    /// A count.
    pub(super) fn count<T: TryFrom<i64>>(&self, column: &str) -> Result<T, StoreError> {
        let value: i64 = self.get(column)?;
        T::try_from(value).map_err(|_| self.bad(column, format!("{value} is out of range")))
    }

    /// An instant.
    pub(super) fn instant(&self, column: &str) -> Result<DateTime<Utc>, StoreError> {
        self.maybe_instant(column)?.ok_or_else(|| self.bad(column, "it is empty"))
    }

    /// An instant that may be missing.
    pub(super) fn maybe_instant(&self, column: &str) -> Result<Option<DateTime<Utc>>, StoreError> {
        let Some(micros) = self.get::<Option<i64>>(column)? else { return Ok(None) };
        instant(micros).map(Some).map_err(|why| self.bad(column, why))
    }

    /// A word of one of core's enums.
    pub(super) fn word<T: Word>(&self, column: &str) -> Result<T, StoreError> {
        self.maybe_word(column)?.ok_or_else(|| self.bad(column, "it is empty"))
    }

    /// A word that may be missing.
    pub(super) fn maybe_word<T: Word>(&self, column: &str) -> Result<Option<T>, StoreError> {
        let Some(word) = self.get::<Option<&str>>(column)? else { return Ok(None) };
        let known = T::of(word);
        known.map(Some).ok_or_else(|| self.bad(column, format!("the word {word:?} is not known")))
    }

    /// JSON. The error tells where it breaks, never what stands there.
    pub(super) fn json<T: DeserializeOwned>(&self, column: &str) -> Result<T, StoreError> {
        self.maybe_json(column)?.ok_or_else(|| self.bad(column, "it is empty"))
    }

    /// JSON that may be missing.
    pub(super) fn maybe_json<T: DeserializeOwned>(
        &self,
        column: &str,
    ) -> Result<Option<T>, StoreError> {
        let Some(text) = self.get::<Option<&str>>(column)? else { return Ok(None) };
        parse(text).map(Some).map_err(|why| self.bad(column, why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled_as_core_does<T: Word + Serialize + PartialEq + std::fmt::Debug>() {
        for &(value, word) in T::WORDS {
            assert_eq!(serde_json::to_value(value).unwrap(), word);
            assert_eq!(T::of(word), Some(value));
            assert_eq!(value.word(), word);
        }
    }

    #[test]
    fn words_in_columns_are_spelled_as_core_spells_them() {
        spelled_as_core_does::<Standing>();
        spelled_as_core_does::<Counts>();
        spelled_as_core_does::<Audience>();
        spelled_as_core_does::<ChatKind>();
        spelled_as_core_does::<TurnEnd>();
        spelled_as_core_does::<DeliveryKind>();
        spelled_as_core_does::<IntentState>();
        spelled_as_core_does::<Origin>();
    }
}
