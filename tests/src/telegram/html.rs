//! Telegram's HTML as its server reads it: which text it makes, and in which words it refuses.

/// What a text says once its tags are taken away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parsed {
    /// The plain text.
    pub(super) text: String,
    /// How many entities it holds.
    pub(super) entities: usize,
}

const TAGS: [&str; 16] = [
    "a",
    "b",
    "strong",
    "i",
    "em",
    "s",
    "strike",
    "del",
    "u",
    "ins",
    "tg-spoiler",
    "tg-emoji",
    "span",
    "pre",
    "code",
    "blockquote",
];

/// Parses `html`, or says why not, as the server words it (without "Bad Request: ").
pub(super) fn parse(html: &str) -> Result<Parsed, String> {
    let mut reader = Reader { html, at: 0, text: String::new(), open: Vec::new(), entities: 0 };
    while let Some(next) = reader.peek() {
        match next {
            '<' if reader.html[reader.at + 1..].starts_with('/') => reader.end_tag()?,
            '<' => reader.start_tag()?,
            '&' => reader.entity(),
            other => {
                reader.at += other.len_utf8();
                reader.text.push(other);
            }
        }
    }
    match reader.open.last() {
        None => Ok(Parsed { text: reader.text, entities: reader.entities }),
        Some((tag, _)) => {
            Err(refusal(&format!("Can't find end tag corresponding to start tag \"{tag}\"")))
        }
    }
}

fn refusal(why: &str) -> String {
    format!("can't parse entities: {why}")
}

struct Reader<'a> {
    html: &'a str,
    at: usize,
    text: String,
    /// Tag and where in the plain text it began.
    open: Vec<(String, usize)>,
    entities: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.html[self.at..].chars().next()
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> String {
        let rest = &self.html[self.at..];
        let end = rest.find(|c| !keep(c)).unwrap_or(rest.len());
        self.at += end;
        rest[..end].to_owned()
    }

    fn start_tag(&mut self) -> Result<(), String> {
        let begin = self.at;
        let unclosed = || refusal(&format!("Unclosed start tag at byte offset {begin}"));
        self.at += 1;
        let tag = self.take_while(|c| !c.is_ascii_whitespace() && c != '>').to_lowercase();
        if self.peek().is_none() {
            return Err(unclosed());
        }
        if !TAGS.contains(&tag.as_str()) {
            return Err(refusal(&format!(
                "Unsupported start tag \"{tag}\" at byte offset {begin}"
            )));
        }
        let mut class = None;
        loop {
            self.take_while(|c| c.is_ascii_whitespace());
            if self.peek().ok_or_else(unclosed)? == '>' {
                break;
            }
            let (name, value) = self.attribute(&tag, begin)?;
            if name == "class" {
                class = Some(value);
            }
        }
        self.at += 1;
        if tag == "span" && class.as_deref() != Some("tg-spoiler") {
            let why = format!("Tag \"span\" must have class \"tg-spoiler\" at byte offset {begin}");
            return Err(refusal(&why));
        }
        self.open.push((tag, self.text.len()));
        Ok(())
    }

    fn attribute(&mut self, tag: &str, begin: usize) -> Result<(String, String), String> {
        let unclosed = || refusal(&format!("Unclosed start tag \"{tag}\" at byte offset {begin}"));
        let name = self
            .take_while(|c| !c.is_ascii_whitespace() && !matches!(c, '=' | '>' | '/' | '"' | '\''));
        if name.is_empty() {
            let why = format!("Empty attribute name in the tag \"{tag}\" at byte offset {begin}");
            return Err(refusal(&why));
        }
        self.take_while(|c| c.is_ascii_whitespace());
        if self.peek().ok_or_else(unclosed)? != '=' {
            return Ok((name.to_lowercase(), String::new()));
        }
        self.at += 1;
        self.take_while(|c| c.is_ascii_whitespace());
        let quote = self.peek().ok_or_else(unclosed)?;
        if quote != '"' && quote != '\'' {
            let token = self.take_while(|c| c.is_ascii_alphanumeric() || c == '.' || c == '-');
            if self.peek().is_some_and(|c| !c.is_ascii_whitespace() && c != '>') {
                let why = format!("Unexpected end of name token at byte offset {}", self.at);
                return Err(refusal(&why));
            }
            return Ok((name.to_lowercase(), token));
        }
        self.at += 1;
        let value = self.take_while(|c| c != quote);
        self.peek().ok_or_else(unclosed)?;
        self.at += 1;
        Ok((name.to_lowercase(), value))
    }

    fn end_tag(&mut self) -> Result<(), String> {
        let begin = self.at;
        let Some((open, from)) = self.open.pop() else {
            return Err(refusal(&format!("Unexpected end tag at byte offset {begin}")));
        };
        self.at += 2;
        let tag = self.take_while(|c| !c.is_ascii_whitespace() && c != '>').to_lowercase();
        self.take_while(|c| c.is_ascii_whitespace());
        if self.peek() != Some('>') {
            return Err(refusal(&format!("Unclosed end tag at byte offset {begin}")));
        }
        if !tag.is_empty() && tag != open {
            return Err(refusal(&format!(
                "Unmatched end tag at byte offset {begin}, expected \"</{open}>\", found \"</{tag}>\""
            )));
        }
        self.at += 1;
        if self.text.len() > from {
            self.entities += 1;
        }
        Ok(())
    }

    /// A character reference. What is none stays as it stands, like a browser does it.
    fn entity(&mut self) {
        let rest = &self.html[self.at + 1..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '#').unwrap_or(rest.len());
        let character = match &rest[..end] {
            "lt" => Some('<'),
            "gt" => Some('>'),
            "amp" => Some('&'),
            "quot" => Some('"'),
            name => numbered(name),
        };
        let Some(character) = character else {
            self.text.push('&');
            self.at += 1;
            return;
        };
        self.text.push(character);
        self.at += 1 + end + usize::from(rest[end..].starts_with(';'));
    }
}

fn numbered(name: &str) -> Option<char> {
    let digits = name.strip_prefix('#')?;
    let code = match digits.strip_prefix('x') {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    char::from_u32(code).filter(|&c| c != '\0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_html_becomes_its_text() {
        for (html, text, entities) in [
            ("plain 🎉 text", "plain 🎉 text", 0),
            ("<b>bold <i>both</i></b> &lt;x&gt; &amp;&quot;&#33;", "bold both <x> &\"!", 2),
            (r#"<pre><code class="language-rust">fn a() {}</code></pre>"#, "fn a() {}", 2),
            (r#"<a href="https://e.org/?a=1&amp;b=2">here</a>"#, "here", 1),
            ("<blockquote expandable>q</blockquote>", "q", 1),
            (r#"<span class="tg-spoiler">s</span>"#, "s", 1),
            ("a & b &unknown; c", "a & b &unknown; c", 0),
            ("<b></b>", "", 0),
        ] {
            let expected = Parsed { text: text.into(), entities };
            assert_eq!(parse(html), Ok(expected), "{html}");
        }
    }

    #[test]
    fn broken_html_is_refused_in_the_servers_words() {
        for (html, why) in [
            ("a <b>c", "Can't find end tag corresponding to start tag \"b\""),
            ("é <p>c</p>", "Unsupported start tag \"p\" at byte offset 3"),
            ("a < b", "Unsupported start tag \"\" at byte offset 2"),
            ("a <", "Unclosed start tag at byte offset 2"),
            ("a </b>", "Unexpected end tag at byte offset 2"),
            ("<b>x</i>", "Unmatched end tag at byte offset 4, expected \"</b>\", found \"</i>\""),
            ("<b>x</b", "Unclosed end tag at byte offset 4"),
            ("<span>x</span>", "Tag \"span\" must have class \"tg-spoiler\" at byte offset 0"),
            ("<a =\"x\">x</a>", "Empty attribute name in the tag \"a\" at byte offset 0"),
            ("<a href=\"x>x</a>", "Unclosed start tag \"a\" at byte offset 0"),
            ("<a href=x/y>x</a>", "Unexpected end of name token at byte offset 9"),
        ] {
            assert_eq!(parse(html), Err(format!("can't parse entities: {why}")), "{html}");
        }
    }
}
