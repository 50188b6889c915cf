//! Markdown as models write it, rendered and cut for chats: what all platforms with formatted text
//! share. Pure: the same text gives the same parts, also after a restart.
//!
//! `render` makes plain characters with styles over them, `split` cuts what is too long for one
//! message. Styles are ranges, so that a cut never breaks a tag: whoever writes a part closes what is
//! open at its end, and opens it again in the next. How a part is written, and what it may hold, is
//! the platform's own.

pub(crate) mod render;
pub(crate) mod split;
pub(crate) mod styled;
pub(crate) mod table;

/// Stands before a repeat of what may have arrived already.
pub(crate) const REPEAT_MARK: &str = "♻︎ ";
/// What is said in place of nothing at all.
pub(crate) const EMPTY: &str = "(empty answer)";

/// Whether there would be nothing to see of it; platforms refuse such a message.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(is_invisible)
}

/// White space and what has no shape.
pub(crate) fn is_invisible(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}'
        )
}

/// What a part says without its format: its source, or where that `fits` not the rendered text.
pub(crate) fn plain(source: &str, rendered: &str, fits: impl Fn(&str) -> bool) -> String {
    let source = source.trim_matches('\n').trim_end();
    let text = if !is_blank(source) && fits(source) { source } else { rendered };
    text.to_owned()
}
