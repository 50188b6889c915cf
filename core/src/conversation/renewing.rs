//! A claim is renewed while the work goes on that it was got for.

use std::time::Duration;

use futures_util::FutureExt;

use crate::ports::StoreError;

/// Renews the claim again and again while the work goes on. An error that is not the work's own says
/// that somebody else has the conversation now.
pub(super) async fn renewing<T, R: Future<Output = Result<(), StoreError>>>(
    every: Duration,
    renew: impl Fn() -> R,
    work: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            () = tokio::time::sleep(every) => {
                if let Err(error) = renew().await {
                    // The last step may have given the claim back just now: then the work is done.
                    return work.now_or_never().unwrap_or(Err(error));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use tokio::sync::Notify;

    use super::*;

    const EVERY: Duration = Duration::from_millis(1);

    #[tokio::test]
    async fn work_that_gave_its_claim_back_while_it_was_renewed_is_done() {
        let committed = Notify::new();
        let renew = || {
            committed.notify_one();
            ready(Err(StoreError::ClaimLost))
        };
        let work = async {
            committed.notified().await;
            Ok("done")
        };
        assert_eq!(renewing(EVERY, renew, work).await.ok(), Some("done"));
    }

    #[tokio::test]
    async fn work_ends_where_its_claim_is_lost() {
        let work = pending::<Result<(), StoreError>>();
        let ended = renewing(EVERY, || ready(Err(StoreError::ClaimLost)), work).await;
        assert!(matches!(ended, Err(StoreError::ClaimLost)), "{ended:?}");
    }
}
