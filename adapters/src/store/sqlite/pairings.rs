//! People who ask to be let in, and those who were.

use std::time::Duration;

use atlas_core::ids::{ChatKey, Person};
use atlas_core::ports::{
    Admission, BETWEEN_LINES, Guest, Guests, MOST_WAITING, NewDelivery, PairingRequest, StoreError,
    WRONG_TRIES, Waiting,
};
use chrono::{DateTime, TimeDelta, Utc};
use sqlx::sqlite::SqliteRow;

use super::error::store_error;
use super::line::Line;
use super::outbox;
use super::readers::Readers;
use crate::store::sql::{Record, micros};

/// The beginning of a window that ends at `at`.
pub(super) fn back(at: DateTime<Utc>, window: Duration) -> i64 {
    TimeDelta::from_std(window).map_or(i64::MIN, |window| micros(at - window))
}

/// Whether a stranger has had their line, or has lost the right to one.
pub(super) const TOLD: &str = "\
SELECT EXISTS (
    SELECT 1 FROM pairing_requests WHERE platform = $1 AND person = $2 AND told_at > $3
)";

/// The newest that wait stay; older ones give way, and so do those whose time is over.
pub(super) const GIVE_WAY: &str = "\
UPDATE pairing_requests SET open = 0
WHERE open = 1 AND (expires_at <= $1 OR id NOT IN (
    SELECT id FROM pairing_requests WHERE open = 1 AND expires_at > $1 ORDER BY id DESC LIMIT $2 + 0
))";

/// Tells a stranger a code, if it is time.
pub(super) async fn knock(
    connection: &mut Line,
    request: &PairingRequest,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    let PairingRequest { person, name, code_hash, expires, line } = request;
    let told: bool = sqlx::query_scalar(TOLD)
        .bind(person.platform.as_str())
        .bind(person.id.as_str())
        .bind(back(at, BETWEEN_LINES))
        .fetch_one(&mut *connection)
        .await
        .map_err(store_error)?;
    if told || is_locked_out(connection, person, at).await? {
        return Ok(());
    }
    sqlx::query(GIVE_WAY)
        .bind(micros(at))
        .bind(MOST_WAITING - 1)
        .execute(&mut *connection)
        .await
        .map_err(store_error)?;
    sqlx::query(
        "INSERT INTO pairing_requests (platform, person, name, account, chat, code_hash, told_at, \
         expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(person.platform.as_str())
    .bind(person.id.as_str())
    .bind(&**name)
    .bind(line.to.account.as_str())
    .bind(line.to.chat.as_str())
    .bind(&**code_hash)
    .bind(micros(at))
    .bind(micros(*expires))
    .execute(&mut *connection)
    .await
    .map_err(store_error)?;
    outbox::insert(connection, std::slice::from_ref(line), at).await
}

/// Whether too many wrong codes came from this person within the hour. Forgets older ones.
pub(super) async fn is_locked_out(
    connection: &mut Line,
    person: &Person,
    at: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let counts: Vec<i64> = sqlx::query_scalar(
        "DELETE FROM pairing_failures WHERE platform = $1 AND person = $2 AND at <= $3; \
         SELECT count(*) FROM pairing_failures WHERE platform = $1 AND person = $2",
    )
    .bind(person.platform.as_str().to_owned())
    .bind(person.id.as_str().to_owned())
    .bind(micros(at - TimeDelta::hours(1)))
    .fetch_all(connection)
    .await
    .map_err(store_error)?;
    Ok(counts.first().is_some_and(|&count| count >= i64::from(WRONG_TRIES)))
}

/// Counts a wrong code.
pub(super) async fn count_failure(
    connection: &mut Line,
    person: &Person,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query("INSERT INTO pairing_failures (platform, person, at) VALUES ($1, $2, $3)")
        .bind(person.platform.as_str().to_owned())
        .bind(person.id.as_str().to_owned())
        .bind(micros(at))
        .execute(connection)
        .await
        .map(drop)
        .map_err(store_error)
}

pub(super) const IS_GUEST: &str =
    "SELECT EXISTS (SELECT 1 FROM guests WHERE platform = $1 AND person = $2)";

pub(super) async fn is_guest(readers: &Readers, person: &Person) -> Result<bool, StoreError> {
    let query = sqlx::query(IS_GUEST).bind(person.platform.as_str()).bind(person.id.as_str());
    Ok(readers.value(query).await? == Some(true))
}

pub(super) const ACCEPT: &str = "\
UPDATE pairing_requests SET open = 0, accepted_at = $2
WHERE code_hash = $1 AND open = 1 AND expires_at > $2
RETURNING id, platform, person, name, account, chat";

/// Whom this code let in before, when the same one gave it in.
pub(super) const ACCEPTED: &str = "\
SELECT guest.platform, guest.person, guest.name, guest.since
FROM pairing_requests request
JOIN guests guest ON guest.platform = request.platform AND guest.person = request.person
WHERE request.code_hash = $1 AND request.accepted_at = guest.since
AND guest.by_platform IS $2 AND guest.by_person IS $3";

pub(super) async fn allow(
    connection: &mut Line,
    code_hash: &str,
    by: Option<&Person>,
    welcome: &str,
    at: DateTime<Utc>,
) -> Result<Admission, StoreError> {
    if let Some(by) = by
        && is_locked_out(connection, by, at).await?
    {
        return Ok(Admission::LockedOut);
    }
    let row = sqlx::query(ACCEPT)
        .bind(code_hash)
        .bind(micros(at))
        .fetch_optional(&mut *connection)
        .await
        .map_err(store_error)?;
    if let Some(row) = row {
        return let_in(connection, &row, by, welcome, at).await.map(Admission::LetIn);
    }
    let before = sqlx::query(ACCEPTED)
        .bind(code_hash)
        .bind(by.map(|by| by.platform.as_str()))
        .bind(by.map(|by| by.id.as_str()))
        .fetch_optional(&mut *connection)
        .await
        .map_err(store_error)?;
    if let Some(row) = before {
        return guest(&row).map(Admission::LetIn);
    }
    if let Some(by) = by {
        count_failure(connection, by, at).await?;
    }
    Ok(Admission::Wrong)
}

async fn let_in(
    connection: &mut Line,
    row: &SqliteRow,
    by: Option<&Person>,
    welcome: &str,
    at: DateTime<Utc>,
) -> Result<Guest, StoreError> {
    let row = Record::new(row, "pairing_requests")?;
    let (person, name) = (person(&row)?, row.get::<String>("name")?);
    sqlx::query(
        "INSERT INTO guests (platform, person, name, since, by_platform, by_person) \
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (platform, person) DO UPDATE SET \
         name = excluded.name, since = excluded.since, by_platform = excluded.by_platform, \
         by_person = excluded.by_person",
    )
    .bind(person.platform.as_str())
    .bind(person.id.as_str())
    .bind(&*name)
    .bind(micros(at))
    .bind(by.map(|by| by.platform.as_str()))
    .bind(by.map(|by| by.id.as_str()))
    .execute(&mut *connection)
    .await
    .map_err(store_error)?;
    let mut hello = NewDelivery::notice(row.place()?, welcome);
    hello.silent = false;
    outbox::insert(connection, &[hello], at).await?;
    Ok(Guest { person, name, since: crate::store::sql::as_stored(at) })
}

/// Takes a guest out. Whether there was one.
pub(super) async fn remove(connection: &mut Line, person: Person) -> Result<bool, StoreError> {
    let removed = sqlx::query("DELETE FROM guests WHERE platform = $1 AND person = $2")
        .bind(person.platform.0)
        .bind(person.id.0)
        .execute(connection)
        .await
        .map_err(store_error)?;
    Ok(removed.rows_affected() > 0)
}

pub(super) const WAITING: &str = "\
SELECT id, platform, person, name, account, chat, told_at FROM pairing_requests
WHERE open = 1 AND expires_at > $1 ORDER BY id";

/// The list that is printed whole when it is asked for.
const LET_IN: &str = "\
SELECT platform, person, name, since FROM guests ORDER BY since, platform, person";

pub(super) async fn guests(readers: &Readers, at: DateTime<Utc>) -> Result<Guests, StoreError> {
    let waiting = readers.all(sqlx::query(WAITING).bind(micros(at))).await?;
    let let_in = readers.all(sqlx::query(LET_IN)).await?;
    Ok(Guests {
        waiting: waiting.iter().map(waits).collect::<Result<_, _>>()?,
        let_in: let_in.iter().map(guest).collect::<Result<_, _>>()?,
    })
}

fn waits(row: &SqliteRow) -> Result<Waiting, StoreError> {
    let row = Record::new(row, "pairing_requests")?;
    let place: ChatKey = row.place()?;
    Ok(Waiting {
        person: person(&row)?,
        name: row.get("name")?,
        place,
        since: row.instant("told_at")?,
    })
}

fn guest(row: &SqliteRow) -> Result<Guest, StoreError> {
    let row = Record::named(row, "guests", "?");
    Ok(Guest { person: person(&row)?, name: row.get("name")?, since: row.instant("since")? })
}

fn person(row: &Record<'_>) -> Result<Person, StoreError> {
    Ok(Person { platform: row.name("platform")?, id: row.name("person")? })
}
