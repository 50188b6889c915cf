//! What only the inside of the store can show: query plans, a full disk, a lost connection.

use std::sync::Arc;

use atlas_core::access::Standing;
use atlas_core::audience::Audience;
use atlas_core::event::{Addressed, ChatKind, Inbound, Sender};
use atlas_core::ports::{ConversationKey, ConversationSpec, Disposition, Door};
use chrono::TimeDelta;
use futures_util::future::join_all;
use sqlx::{AssertSqlSafe, Row, SqliteConnection};
use tempfile::TempDir;

use super::error::store_error;
use super::*;

async fn opened() -> (TempDir, SqliteStore) {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(&folder.path().join("atlas.db")).await.unwrap();
    (folder, store)
}

/// What may be read from end to end: partial indexes, which hold only what is still to be done, and
/// lists made on the spot.
const SMALL: &[&str] = &[
    "inbox_openers",
    "inbox_pending",
    "inbox_commands",
    "inbox_at_work",
    "inbox_open_places",
    "outbox_open",
    "outbox_held",
    "turns_open",
    "pairing_requests_open",
    "conversations_held",
    "episodes_open",
    "memory_intents_open",
    "VIRTUAL TABLE", // json_each: what the statement was given
    "work",
    "the_limit", // one row
    "head",
    "(subquery",
    "CONSTANT ROW",
];

const GROWING: &[&str] = &[
    conversations::LOAD,
    conversations::STOP_REQUESTED,
    conversations::PENDING,
    conversations::STATUS,
    conversations::PLACES_AT_WORK,
    claims::OPEN_WORK,
    claims::CLAIM,
    claims::HOLDERS,
    claims::FREE,
    commands::PENDING,
    commands::STOP,
    chats::PRIVATE_PLACE,
    chats::IS_QUIET,
    accept::STORE_SAID,
    accept::STORE_OTHER,
    limits::PERSON_TOLD,
    limits::CHAT_TOLD,
    pairings::TOLD,
    pairings::GIVE_WAY,
    pairings::IS_GUEST,
    pairings::ACCEPT,
    pairings::ACCEPTED,
    pairings::WAITING,
    turns::OPEN,
    turns::STEP,
    turns::CUT,
    outbox::INSERT,
    outbox::CLAIM,
    outbox::NEXT,
    outbox::CLAIM_LEFT_OVER,
    outbox::CHATS,
    outbox::ATTEMPTING,
    outbox::PART_SENT,
    outbox::CLOSE,
    outbox::RETRY,
    outbox::GIVE_BACK,
    outbox::NOTE,
    memory::BY_KEY,
    memory::OPEN,
    memory::OPEN_OF_FILE,
    memory::HISTORY,
];

async fn plan(connection: &mut SqliteConnection, statement: &str) -> Vec<String> {
    sqlx::query(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}")))
        .fetch_all(connection)
        .await
        .unwrap()
        .iter()
        .map(|row| row.get("detail"))
        .collect()
}

#[tokio::test]
async fn nothing_that_grows_is_read_from_end_to_end() {
    let (_folder, store) = opened().await;
    let mut connection = store.readers.connect().await.unwrap();
    // An insert into a table that others refer to plans to look for their rows, and does so only
    // after a deferred violation, which there is none of here. No row of such a table is deleted.
    sqlx::query("PRAGMA foreign_keys = OFF").execute(&mut connection).await.unwrap();
    for statement in GROWING.iter().flat_map(|sql| sql.split(';')) {
        let steps = plan(&mut connection, statement).await;
        assert!(!steps.is_empty() || statement.contains("VALUES"), "no plan for {statement}");
        for step in steps.iter().filter(|step| step.starts_with("SCAN")) {
            assert!(SMALL.iter().any(|small| step.contains(small)), "{step} in\n{statement}");
        }
    }
}

#[tokio::test]
async fn nothing_is_sorted_but_what_is_to_be_done() {
    let (_folder, store) = opened().await;
    let mut connection = store.readers.connect().await.unwrap();
    for statement in [conversations::LOAD, conversations::PENDING, memory::HISTORY] {
        let steps = plan(&mut connection, statement).await;
        assert!(steps.iter().all(|step| !step.contains("TEMP B-TREE")), "{steps:?}");
    }
}

fn said(bot: BotId, order: i64, text: String) -> NewInbox {
    let at = DateTime::UNIX_EPOCH + TimeDelta::seconds(order);
    let inbound = Inbound {
        lineage: vec!["5".into()],
        kind: ChatKind::Direct,
        chat_name: None,
        message: order.to_string().into(),
        order,
        sender: Sender { person: None, name: "Ada".to_owned(), is_bot: false },
        text,
        outside: false,
        files: Vec::new(),
        addressed: Addressed::Directly,
        command: None,
        sent_at: at,
    };
    let to = ConversationSpec { bot, key: ConversationKey::Direct, audience: Audience::Private };
    NewInbox {
        account: "tg".into(),
        platform: "telegram".into(),
        key: order.to_string(),
        raw: "{}".to_owned(),
        accepted_by: "one".into(),
        at,
        disposition: Disposition::Turn { to, standing: Standing::Owner, inbound },
        deliveries: Vec::new(),
        door: Door::Open,
    }
}

async fn bot(store: &SqliteStore) -> BotId {
    store.take_up_bots(&["atlas".into()], DateTime::UNIX_EPOCH).await.unwrap()[0].1
}

/// Pages beyond this number do not fit on the "disk" of the connection that writes.
async fn disk_of(store: &SqliteStore, pages: &'static str) {
    let asked = store.writer.ask(move |writer| {
        Box::pin(async move {
            let sql = format!("PRAGMA max_page_count = {pages}");
            sqlx::query(AssertSqlSafe(sql)).execute(writer).await.map(drop).map_err(store_error)
        })
    });
    asked.await.unwrap();
}

#[tokio::test]
async fn a_full_disk_loses_nothing_and_is_got_over() {
    let (_folder, store) = opened().await;
    let bot = bot(&store).await;
    store.accept(&[said(bot, 0, "small".to_owned())]).await.unwrap();
    // Less than there is already means: no more than there is.
    disk_of(&store, "1").await;
    let large = "x".repeat(1_000_000);
    let refused = store.accept(&[said(bot, 1, large.clone())]).await;
    assert!(matches!(refused, Err(StoreError::Unwritable(_))), "{refused:?}");
    let again = store.accept(&[said(bot, 1, large.clone())]).await;
    assert!(matches!(again, Err(StoreError::Unwritable(_))), "{again:?}");
    let work = store.open_work().await.unwrap();
    assert_eq!(store.pending(work[0].conversation).await.unwrap().len(), 1);
    disk_of(&store, "1000000").await;
    let stored = store.accept(&[said(bot, 1, large)]).await.unwrap();
    assert!(matches!(stored[..], [Accepted::Stored { .. }]), "{stored:?}");
}

#[tokio::test]
async fn a_group_that_meets_a_full_disk_is_refused_whole_and_can_come_again() {
    let (_folder, store) = opened().await;
    let bot = bot(&store).await;
    disk_of(&store, "1").await;
    let events: Vec<_> =
        (0..9).map(|n| said(bot, n, "x".repeat(if n == 4 { 1_000_000 } else { 1 }))).collect();
    let calls = || events.iter().map(|event| store.accept(std::slice::from_ref(event)));
    for answer in join_all(calls()).await {
        assert!(!matches!(answer, Err(StoreError::Failed(_))), "{answer:?}");
    }
    disk_of(&store, "1000000").await;
    for answer in join_all(calls()).await {
        answer.unwrap();
    }
    let work = store.open_work().await.unwrap();
    assert_eq!(store.pending(work[0].conversation).await.unwrap().len(), 9);
}

#[tokio::test]
async fn a_connection_that_broke_is_made_again() {
    let (_folder, store) = opened().await;
    // A transaction that the store knows nothing of: the next one cannot begin.
    let broken = store.writer.ask(|writer| {
        Box::pin(async move {
            sqlx::query("BEGIN IMMEDIATE; UPDATE probe SET count = 99")
                .execute(writer)
                .await
                .map(drop)
                .map_err(store_error)
        })
    });
    broken.await.unwrap();
    let told = store.check().await;
    assert!(told.is_err(), "{told:?}");
    store.check().await.unwrap();
    let lost = store.writer.ask(|_| {
        Box::pin(async { Err::<(), _>(StoreError::Unwritable("the disk went away".to_owned())) })
    });
    assert!(lost.await.is_err());
    store.check().await.unwrap();
}

#[tokio::test]
async fn a_use_case_is_done_though_its_caller_went_away() {
    let (_folder, store) = opened().await;
    let store = Arc::new(store);
    let bot = bot(&store).await;
    let events = [said(bot, 1, "x".to_owned())];
    let mut call = store.accept(&events);
    // Asked once, which puts it in the queue, and dropped.
    assert!(futures_util::poll!(&mut call).is_pending());
    drop(call);
    store.check().await.unwrap();
    assert_eq!(store.accept(&events).await.unwrap(), [Accepted::Duplicate]);
}

/// Lets no change of a conversation be committed: what `SQLite` finds out at the end alone.
async fn no_commit(store: &SqliteStore) {
    let made = store.writer.ask(|writer| {
        Box::pin(async move {
            sqlx::query(
                "CREATE TEMP TABLE parent (id INTEGER PRIMARY KEY);
                 CREATE TEMP TABLE child (
                     id INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED
                 );
                 CREATE TEMP TRIGGER no_commit AFTER UPDATE ON main.conversations BEGIN
                     INSERT INTO child VALUES (1);
                 END",
            )
            .execute(writer)
            .await
            .map(drop)
            .map_err(store_error)
        })
    });
    made.await.unwrap();
}

#[tokio::test]
async fn a_claim_that_cannot_be_committed_is_not_held() {
    let (_folder, store) = opened().await;
    let bot = bot(&store).await;
    store.accept(&[said(bot, 1, "x".to_owned())]).await.unwrap();
    let conversation = store.open_work().await.unwrap()[0].conversation;
    no_commit(&store).await;
    let claim = store.claim(conversation, &"one".into(), DateTime::UNIX_EPOCH, Seq(0)).await;
    assert!(matches!(claim, Err(StoreError::Failed(_))), "{claim:?}");
    assert_eq!(store.holders().await.unwrap(), []);
}

/// Writes this as the waiting message, whatever it is.
async fn waiting_message(store: &SqliteStore, inbound: String) {
    let written = store.writer.ask(|writer| {
        Box::pin(async move {
            let query = sqlx::query("UPDATE inbox SET inbound = $1").bind(inbound);
            query.execute(writer).await.map(drop).map_err(store_error)
        })
    });
    written.await.unwrap();
}

#[tokio::test]
async fn a_claim_of_what_cannot_be_read_is_not_held_and_is_no_attempt() {
    let (_folder, store) = opened().await;
    let bot = bot(&store).await;
    store.accept(&[said(bot, 1, "x".to_owned())]).await.unwrap();
    let conversation = store.open_work().await.unwrap()[0].conversation;
    let me = "one".into();
    let claim = || store.claim(conversation, &me, DateTime::UNIX_EPOCH, Seq(0));
    let readable = match &said(bot, 1, "x".to_owned()).disposition {
        Disposition::Turn { inbound, .. } => serde_json::to_string(inbound).unwrap(),
        other => panic!("{other:?}"),
    };
    waiting_message(&store, "{\"of\": \"another version\"}".to_owned()).await;
    for _ in 0..4 {
        assert!(matches!(claim().await, Err(StoreError::Failed(_))));
        assert_eq!(store.holders().await.unwrap(), []);
    }
    waiting_message(&store, readable).await;
    assert_eq!(claim().await.unwrap().unwrap().claim.attempt, 1);
}

/// `PRAGMA synchronous` in the middle of a use case: 2 syncs every commit, 1 does not.
async fn level(store: &SqliteStore, manner: Manner) -> i64 {
    let asked = store.writer.write(manner, |writer| {
        Box::pin(async move {
            let level = sqlx::query_scalar("PRAGMA synchronous").fetch_one(writer).await;
            level.map_err(store_error)
        })
    });
    asked.await.unwrap()
}

#[tokio::test]
async fn what_can_be_done_again_alone_is_committed_without_a_sync() {
    let (_folder, store) = opened().await;
    for _ in 0..3 {
        assert_eq!(level(&store, Manner::WHOLE).await, 2);
        assert_eq!(level(&store, Manner::AGAIN).await, 1);
        assert_eq!(level(&store, Manner::STATEMENT).await, 2);
        assert_eq!(level(&store, Manner::STATEMENT_AGAIN).await, 1);
        assert_eq!(level(&store, Manner::AGAIN).await, 1);
    }
}

#[tokio::test]
async fn a_use_case_that_ordered_nothing_and_failed_takes_no_sync_from_the_next() {
    let (_folder, store) = opened().await;
    for manner in [Manner::STATEMENT, Manner::WHOLE] {
        assert_eq!(level(&store, Manner::AGAIN).await, 1);
        let failed = store.writer.write(manner, |_| {
            Box::pin(async { Err::<(), _>(StoreError::Failed("on purpose".to_owned())) })
        });
        assert!(failed.await.is_err());
        assert_eq!(level(&store, manner).await, 2);
    }
}
