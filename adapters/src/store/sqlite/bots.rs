//! Bots' identities, owners by pairing, and what was found out about models.

use atlas_core::ids::{BotId, BotName, Person};
use atlas_core::ports::{Redeemed, StoreError};
use chrono::{DateTime, Utc};

use super::error::store_error;
use super::line::Line;
use super::pairings;
use super::readers::Readers;
use crate::store::sql::{Record, micros};

pub(super) async fn take_up(
    connection: &mut Line,
    names: &[BotName],
    at: DateTime<Utc>,
) -> Result<Vec<(BotName, BotId)>, StoreError> {
    let mut bots = Vec::with_capacity(names.len());
    for name in names {
        let rows = sqlx::query_scalar(
            "INSERT INTO bots (name, created_at) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING; \
             SELECT id FROM bots WHERE name = $1",
        )
        .bind(name.as_str().to_owned())
        .bind(micros(at))
        .fetch_all(&mut *connection)
        .await
        .map_err(store_error)?;
        let id = rows
            .first()
            .copied()
            .ok_or_else(|| StoreError::Failed(format!("bot {name} was stored and is not there")))?;
        bots.push((name.clone(), BotId(id)));
    }
    Ok(bots)
}

pub(super) async fn owners(readers: &Readers) -> Result<Vec<Person>, StoreError> {
    let rows = readers
        .all(sqlx::query("SELECT platform, person FROM owners ORDER BY since, platform, person"))
        .await?;
    rows.iter()
        .enumerate()
        .map(|(place, row)| {
            let row = Record::named(row, "owners", place);
            Ok(Person { platform: row.name("platform")?, id: row.name("person")? })
        })
        .collect()
}

pub(super) async fn offer_pairing(
    connection: &mut Line,
    code_hash: String,
    at: DateTime<Utc>,
    expires: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE pairings SET open = 0 WHERE open = 1; \
         INSERT INTO pairings (code_hash, offered_at, expires_at) VALUES ($1, $2, $3)",
    )
    .bind(code_hash)
    .bind(micros(at))
    .bind(micros(expires))
    .execute(connection)
    .await
    .map_err(store_error)?;
    Ok(())
}

pub(super) async fn redeem_pairing(
    connection: &mut Line,
    code_hash: String,
    person: Person,
    at: DateTime<Utc>,
) -> Result<Redeemed, StoreError> {
    if pairings::is_locked_out(connection, &person, at).await? {
        return Ok(Redeemed::LockedOut);
    }
    // An open code is redeemed; one that this sender redeemed before answers once more.
    let redeemed = sqlx::query(
        "UPDATE pairings SET open = 0, platform = $2, person = $3, redeemed_at = $4 \
         WHERE code_hash = $1 AND ((open = 1 AND expires_at > $4) \
            OR (platform = $2 AND person = $3)) \
         RETURNING id",
    )
    .bind(code_hash)
    .bind(person.platform.as_str().to_owned())
    .bind(person.id.as_str().to_owned())
    .bind(micros(at))
    .fetch_optional(&mut *connection)
    .await
    .map_err(store_error)?;
    if redeemed.is_none() {
        pairings::count_failure(connection, &person, at).await?;
        return Ok(Redeemed::Wrong);
    }
    sqlx::query(
        "INSERT INTO owners (platform, person, since) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
    )
    .bind(person.platform.0)
    .bind(person.id.0)
    .bind(micros(at))
    .execute(connection)
    .await
    .map_err(store_error)?;
    Ok(Redeemed::Owner)
}

pub(super) async fn strict_roles(readers: &Readers, signer: &str) -> Result<bool, StoreError> {
    let query = sqlx::query("SELECT strict_roles FROM models WHERE signer = $1").bind(signer);
    Ok(readers.value(query).await? == Some(1_i64))
}

pub(super) async fn found_strict_roles(
    connection: &mut Line,
    signer: String,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO models (signer, strict_roles, found_at) VALUES ($1, 1, $2) \
         ON CONFLICT (signer) DO UPDATE SET strict_roles = 1",
    )
    .bind(signer)
    .bind(micros(at))
    .execute(connection)
    .await
    .map_err(store_error)?;
    Ok(())
}
