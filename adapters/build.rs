//! Tells cargo that the migrations are part of this crate: the macro that embeds them cannot see a
//! new file by itself.

fn main() {
    println!("cargo::rerun-if-changed=../migrations");
}
