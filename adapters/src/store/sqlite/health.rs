//! Whether the database works, and whether somebody else has changed it.

use atlas_core::ports::StoreError;

use super::error::store_error;
use super::line::Line;

/// Must be asked on the connection that writes: its own commits do not count there, everybody
/// else's do.
pub(super) async fn data_version(connection: &mut Line) -> Result<i64, StoreError> {
    sqlx::query_scalar("PRAGMA data_version").fetch_one(connection).await.map_err(store_error)
}

pub(super) async fn probe(connection: &mut Line) -> Result<i64, StoreError> {
    sqlx::query_scalar("UPDATE probe SET count = count + 1 WHERE id = 1 RETURNING count")
        .fetch_one(connection)
        .await
        .map_err(store_error)
}

pub(super) const PROBE: &str = "SELECT count FROM probe WHERE id = 1";
