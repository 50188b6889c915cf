//! A scene with somebody else than the owner in it.

use atlas_tests::harness::Harness;
use atlas_tests::telegram::{BOT_NAME, Chat, Draft, User};

use crate::scene;

/// The guest's number on Telegram.
pub(crate) const GUEST: i64 = 77;

/// The guest.
pub(crate) fn guest() -> User {
    User::new(GUEST, "Ben")
}

/// A scene in which the guest may talk, in the group and in private.
pub(crate) fn with_guest() -> Harness {
    let mut scene = scene();
    let token = "token = \"env:STAND_IN_TOKEN\"";
    scene.config = scene.config.replace(token, &format!("{token}\nallow = [\"{GUEST}\"]"));
    scene
}

/// Somebody speaks to the bot in a group.
pub(crate) fn mention(scene: &Harness, group: &Chat, who: &User, text: &str) {
    let text = format!("{BOT_NAME} {text}");
    scene.telegram.write(Draft::text(group, who, &text).mentioning(BOT_NAME));
}
