//! Bots, owners, models.

use anyhow::Result;
use atlas_core::ids::Person;
use atlas_core::ports::Redeemed;

use super::{Database, Story, owner, second};

fn stranger() -> Person {
    Person { id: "6".into(), ..owner() }
}

/// Also when it is taken up again, and together with others.
pub async fn a_bot_keeps_its_number(database: &dyn Database) -> Result<()> {
    let story = Story::begin(database).await?;
    let again = story.store.take_up_bots(&["seo".into(), "atlas".into()], second(1)).await?;
    let [(seo, seo_id), (atlas, atlas_id)] = &again[..] else { anyhow::bail!("{again:?}") };
    assert_eq!((seo.as_str(), atlas.as_str()), ("seo", "atlas"));
    assert_eq!(*atlas_id, story.bot);
    assert_ne!(seo_id, atlas_id);
    Ok(())
}

/// The same sender may say it twice; nobody else can use it again.
pub async fn a_code_makes_its_sender_an_owner_once(database: &dyn Database) -> Result<()> {
    let store = database.open().await?;
    store.offer_pairing("hash", second(0), second(600)).await?;
    assert_eq!(store.redeem_pairing("hash", &owner(), second(1)).await?, Redeemed::Owner);
    assert_eq!(store.redeem_pairing("hash", &owner(), second(900)).await?, Redeemed::Owner);
    assert_eq!(store.redeem_pairing("hash", &stranger(), second(2)).await?, Redeemed::Wrong);
    assert_eq!(store.owners().await?, [owner()]);
    Ok(())
}

/// An earlier code stops counting when another is offered.
pub async fn a_code_has_its_time_and_only_the_last_one_counts(
    database: &dyn Database,
) -> Result<()> {
    let store = database.open().await?;
    store.offer_pairing("first", second(0), second(600)).await?;
    store.offer_pairing("second", second(1), second(601)).await?;
    assert_eq!(store.redeem_pairing("first", &owner(), second(2)).await?, Redeemed::Wrong);
    assert_eq!(store.redeem_pairing("second", &owner(), second(601)).await?, Redeemed::Wrong);
    assert_eq!(store.owners().await?, []);
    assert_eq!(store.redeem_pairing("second", &owner(), second(600)).await?, Redeemed::Owner);
    Ok(())
}

/// The right code is not looked at either, and nobody else is locked out.
pub async fn five_wrong_codes_lock_their_sender_out_for_an_hour(
    database: &dyn Database,
) -> Result<()> {
    let store = database.open().await?;
    store.offer_pairing("hash", second(0), second(90_000)).await?;
    for n in 0..5 {
        assert_eq!(store.redeem_pairing("no", &stranger(), second(n)).await?, Redeemed::Wrong);
    }
    let locked = store.redeem_pairing("hash", &stranger(), second(3_599)).await?;
    assert_eq!(locked, Redeemed::LockedOut);
    assert_eq!(store.redeem_pairing("no", &owner(), second(10)).await?, Redeemed::Wrong);
    let after = store.redeem_pairing("hash", &stranger(), second(3_605)).await?;
    assert_eq!(after, Redeemed::Owner);
    Ok(())
}

/// Each signer has its own flag.
pub async fn strict_roles_are_never_forgotten(database: &dyn Database) -> Result<()> {
    let store = database.open().await?;
    assert!(!store.strict_roles("a").await?);
    store.found_strict_roles("a", second(0)).await?;
    store.found_strict_roles("a", second(1)).await?;
    assert!(store.strict_roles("a").await?);
    assert!(!store.strict_roles("b").await?);
    assert!(database.open().await?.strict_roles("a").await?);
    Ok(())
}
