use proptest::prelude::*;

use super::*;
use crate::markdown::{REPEAT_MARK, is_invisible};

fn one(markdown: &str) -> String {
    let parts = encode(markdown);
    assert_eq!(parts.len(), 1, "{parts:?}");
    parts.into_iter().next().unwrap().html
}

/// What Telegram shows of `html`, or what is wrong with it.
fn shown(html: &str) -> Result<(String, usize), String> {
    let (mut text, mut open, mut entities) = (String::new(), Vec::new(), 0);
    let mut rest = html;
    while let Some(c) = rest.chars().next() {
        if c == '<' {
            let (tag, after) = rest[1..].split_once('>').ok_or("a tag without end")?;
            rest = after;
            match tag.strip_prefix('/') {
                Some(name) if open.pop() == Some(name.to_owned()) => {}
                Some(name) => return Err(format!("</{name}> closes another")),
                None => {
                    let name = tag.split(' ').next().unwrap_or_default().to_owned();
                    let known = ["b", "i", "s", "a", "code", "pre", "blockquote"];
                    if !known.contains(&name.as_str()) {
                        return Err(format!("<{name}>"));
                    }
                    entities += 1;
                    open.push(name);
                }
            }
        } else if c == '&' {
            let (name, after) = rest[1..].split_once(';').ok_or("a bare &")?;
            rest = after;
            text.push(match name {
                "lt" => '<',
                "gt" => '>',
                "amp" => '&',
                "quot" => '"',
                other => return Err(format!("&{other};")),
            });
        } else if c == '>' {
            return Err("a bare >".to_owned());
        } else {
            text.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    if open.is_empty() { Ok((text, entities)) } else { Err(format!("open: {open:?}")) }
}

#[test]
fn markdown_becomes_telegrams_html() {
    for (markdown, expected) in [
        ("plain", "plain"),
        (
            "**bold** *italic* ~~gone~~ `code`",
            "<b>bold</b> <i>italic</i> <s>gone</s> <code>code</code>",
        ),
        ("a < b && c > \"d\"", "a &lt; b &amp;&amp; c &gt; &quot;d&quot;"),
        ("one\ntwo  \nthree\n\n\nfour", "one\ntwo\nthree\n\nfour"),
        ("# Title\ntext", "<b>Title</b>\n\ntext"),
        ("## A **b** c", "<b>A b c</b>"),
        ("***both***", "<i><b>both</b></i>"),
        (
            "[here](https://e.org/?a=1&b=\"2\")",
            "<a href=\"https://e.org/?a=1&amp;b=&quot;2&quot;\">here</a>",
        ),
        ("[here](javascript:x)", "here (javascript:x)"),
        ("[write](mailto:a@b.org) <c@d.org>", "write (a@b.org) c@d.org"),
        ("[](https://e.org)", "<a href=\"https://e.org\">https://e.org</a>"),
        ("![a cat](https://e.org/c.png)", "<a href=\"https://e.org/c.png\">a cat</a>"),
        (
            "[![x](https://e.org/i)](https://e.org)",
            "<a href=\"https://e.org\">x (https://e.org/i)</a>",
        ),
        ("<div>raw</div>", "&lt;div&gt;raw&lt;/div&gt;"),
        ("Vec<String> and <b>x</b>", "Vec&lt;String&gt; and &lt;b&gt;x&lt;/b&gt;"),
        ("a<br>b", "a\nb"),
        ("---\n\nx", "———\n\nx"),
        ("> quoted\n> > deeper\n\nafter", "<blockquote>quoted\n\ndeeper</blockquote>\n\nafter"),
        ("a\n\n- [x] done\n- [ ] open", "a\n\n☑ done\n☐ open"),
        ("[a][1]\n\n[1]: https://e.org", "<a href=\"https://e.org\">a</a>"),
        ("now\n\n[TODO]: fix\n[Note]: \"x\"", "now\n\n[TODO]: fix\n\n[Note]: &quot;x&quot;"),
        ("$5 and $6, 1^2, ~5", "$5 and $6, 1^2, ~5"),
    ] {
        assert_eq!(one(markdown), expected, "{markdown}");
        shown(expected).unwrap();
    }
}

#[test]
fn lists_keep_their_shape() {
    for (markdown, expected) in [
        ("- a\n- b", "• a\n• b"),
        ("text\n\n3. a\n4. b\n\nafter", "text\n\n3. a\n4. b\n\nafter"),
        ("- a\n  - b\n    1. c\n- d", "• a\n   • b\n      1. c\n• d"),
        ("- a\n\n  more\n\n- b", "• a\n   more\n• b"),
        ("- a\n  line", "• a\n   line"),
        (
            "1. ```sh\n   ls\n   ```\n2. b",
            "1. <pre><code class=\"language-sh\">ls</code></pre>\n2. b",
        ),
        ("- > q\n- b", "• <blockquote>q</blockquote>\n• b"),
        ("text\n- a", "text\n\n• a"),
    ] {
        assert_eq!(one(markdown), expected, "{markdown}");
    }
}

#[test]
fn code_is_taken_as_it_stands() {
    for (markdown, expected) in [
        (
            "```rust\nfn a() {\n    b::<T>();\n}\n```",
            "<pre><code class=\"language-rust\">fn a() {\n    b::&lt;T&gt;();\n}</code></pre>",
        ),
        ("```\n**x**\n```", "<pre>**x**</pre>"),
        ("```a\"b\nx\n```", "<pre>a&quot;b\nx</pre>"),
        ("``` so it goes\nx\n```", "<pre>so it goes\nx</pre>"),
        ("```rust,ignore\nx\n```", "<pre><code class=\"language-rust\">x</code></pre>"),
        ("```py title=x\nx\n```\nend", "<pre><code class=\"language-py\">x</code></pre>\n\nend"),
        ("```rust\nunclosed", "<pre><code class=\"language-rust\">unclosed</code></pre>"),
        ("`a<b`", "<code>a&lt;b</code>"),
    ] {
        assert_eq!(one(markdown), expected, "{markdown}");
    }
}

#[test]
fn tables_are_aligned_or_told_row_by_row() {
    let small = "| a | long |\n|---|---|\n| 1 | **x** |\n| 日本 | [l](https://e.org) |";
    let rule = format!("{}-+-{}", "-".repeat(4), "-".repeat(17));
    let expected = format!("<pre>a    | long\n{rule}\n1    | x\n日本 | l (https://e.org)</pre>");
    assert_eq!(one(small), expected);
    let word = "w".repeat(50);
    let wide = format!("| a | b |\n|---|---|\n| {word} | {word} |\n| 1 | 2 |");
    assert_eq!(one(&wide), format!("• a: {word}\n   b: {word}\n• a: 1\n   b: 2"));
}

#[test]
fn case_14_a_literal_bullet_beside_bold_is_rendered_and_kept_for_a_refusal() {
    let text = "* one **bold** word\n* 2 * 3 * 4\n\n\\* not a list";
    let parts = encode(text);
    assert_eq!(parts[0].html, "• one <b>bold</b> word\n• 2 * 3 * 4\n\n* not a list");
    assert_eq!(parts[0].plain, text);
}

#[test]
fn case_15_words_of_the_interface_arrive_unbroken() {
    let text = "Set parse_mode to MarkdownV2 or to HTML_mode, not _to_ both_of_them.";
    assert_eq!(one(text), text.replace("_to_", "<i>to</i>"));
}

#[test]
fn nothing_is_never_sent() {
    for blank in ["", "  \n\t\n", "\u{200b}\u{feff}", "\u{2800}", "&#8203;"] {
        let parts = encode(blank);
        assert_eq!(parts.len(), 1);
        assert!(!is_blank(&parts[0].html) && !is_blank(&parts[0].plain), "{blank:?}");
    }
    assert_eq!(encode(" ")[0].html, "(empty answer)");
    assert_eq!(encode("[](<>)")[0].html, "[](&lt;&gt;)");
    assert_eq!(encode("[]: x")[0].plain, "[]: x");
    assert_eq!(encode("[a]: http://x.org")[0].html, "[a]: http://x.org");
}

#[test]
fn a_fence_with_nothing_in_it_shows_what_stands_behind_it() {
    assert_eq!(one("**\n~~~~w0q"), "**\n\n<pre>w0q</pre>");
}

#[test]
fn cases_1_and_2_a_cut_fence_is_closed_and_opened_again() {
    let code = "let x = \"<&>\";\n".repeat(700);
    let parts = encode(&format!("{}\n\n```rust\n{code}```\n\nThe end.", "prose ".repeat(250)));
    assert!(parts.len() > 2);
    let (open, close) = ("<pre><code class=\"language-rust\">", "</code></pre>");
    for part in &parts[1..parts.len() - 1] {
        assert!(part.html.starts_with(open) && part.html.ends_with(close), "{}", part.html);
    }
    let lines: usize = parts.iter().map(|part| part.html.matches("let x = ").count()).sum();
    assert_eq!(lines, 700);
    assert!(parts.last().unwrap().html.ends_with("</pre>\n\nThe end."));
}

#[test]
fn a_cut_is_made_where_it_hurts_least() {
    let cut = |text: &str, room: usize| {
        let styled = Styled::plain(text);
        let cuts = cuts(&styled, room);
        cuts.into_iter().map(|cut| text[cut.text].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(cut("one two\n\nthree four", 14), ["one two", "three four"]);
    assert_eq!(cut("one two\nthree four", 14), ["one two", "three four"]);
    assert_eq!(cut("Yes, it is. No more", 14), ["Yes, it is.", "No more"]);
    assert_eq!(cut("one two three", 10), ["one two", "three"]);
    assert_eq!(cut("onetwothree", 6), ["onetwo", "three"]);
    assert_eq!(cut("明天下午三点。开项目评审会议", 10), ["明天下午三点。", "开项目评审会议"]);
    assert_eq!(cut("👩‍👩‍👧‍👦👩‍👩‍👧‍👦", 12), ["👩‍👩‍👧‍👦", "👩‍👩‍👧‍👦"]);
    assert_eq!(
        cut(&format!("a{}", "\u{301}".repeat(6)), 3),
        ["a\u{301}\u{301}", "\u{301}\u{301}\u{301}", "\u{301}"]
    );
    // A letter that takes what follows into its cluster, be it a space.
    assert_eq!(cut("onetwo\u{d4e} three", 8), ["onetwo\u{d4e} ", "three"]);
    assert_eq!(cut(" \n\n ", 10), Vec::<String>::new());
}

#[test]
fn a_message_never_holds_more_than_a_hundred_entities() {
    let parts = encode(&"**a** `b` [c](https://e.org) ".repeat(100));
    assert!(parts.len() > 2);
    for part in parts {
        assert!(shown(&part.html).unwrap().1 <= 100);
    }
}

#[test]
fn the_html_of_a_message_is_never_too_long() {
    let links = format!("[c](https://e.org/{}) ", "x".repeat(1_500)).repeat(60);
    for part in encode(&links) {
        assert!(part.html.len() <= 32_768 && utf16(&part.plain) <= LIMIT);
    }
}

#[test]
fn a_full_part_has_room_for_the_mark_of_a_repeat() {
    for part in encode(&"x".repeat(20_000)) {
        assert!(utf16(&format!("{REPEAT_MARK}{}", part.html)) <= LIMIT);
    }
}

/// Markdown of all kinds, also broken.
fn markdown() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "**",
            "*",
            "_",
            "~~",
            "`",
            "```",
            "```rust\n",
            "\n",
            "\n\n",
            "- ",
            "\n- ",
            "\n  - ",
            "\n1. ",
            "> ",
            "\n> ",
            "# ",
            "[x](https://e.org)",
            "[",
            "](",
            ")",
            "![",
            "<b>",
            "<",
            ">",
            "&",
            "&amp;",
            "\"",
            "| a | b |\n|---|---|\n| c | d |\n",
            "\\",
            "    ",
            "\t",
            "---\n",
            "👩‍👩‍👧‍👦",
            "e\u{301}",
            "日本語。",
            "\u{200d}",
            "\r\n",
            "$x$",
            "- [ ] ",
            "\u{0}",
            "||",
        ])
        .prop_map(str::to_owned),
        "[a-z .!]{1,30}",
        "\\PC{0,8}",
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn without_space(text: &str) -> String {
    text.chars().filter(|c| !is_invisible(*c)).collect()
}

proptest! {
    #[test]
    fn every_part_is_whole_in_itself_and_together_they_are_the_text(
        markdown in markdown(), room in 8_usize..200,
    ) {
        let styled = render(&markdown, &DIALECT);
        let cuts = cuts(&styled, room);
        let (mut texts, mut source) = (String::new(), 0);
        for cut in &cuts {
            let html = html::write(&styled, cut.text.clone());
            let (text, entities) = shown(&html).map_err(TestCaseError::fail)?;
            prop_assert!(!is_blank(&text));
            prop_assert!(utf16(&text) <= room, "{} units", utf16(&text));
            prop_assert!(entities <= 100);
            prop_assert!(cut.source.start >= source && cut.source.end >= cut.source.start);
            source = cut.source.end;
            texts.push_str(&text);
        }
        prop_assert_eq!(without_space(&texts), without_space(&styled.text));
    }

    #[test]
    fn no_cut_stands_inside_a_cluster(text in "(\\PC|👩‍👩‍👧‍👦|e\u{301}| |\n){0,80}", room in 30_usize..60) {
        use unicode_segmentation::UnicodeSegmentation;
        let styled = Styled::plain(&text);
        let mut borders: Vec<_> = text.grapheme_indices(true).map(|(at, _)| at).collect();
        borders.push(text.len());
        let longest = text.graphemes(true).map(utf16).max().unwrap_or_default();
        prop_assume!(longest <= room);
        for cut in cuts(&styled, room) {
            prop_assert!(borders.contains(&cut.text.start) && borders.contains(&cut.text.end));
        }
    }

    #[test]
    fn every_answer_is_sent_within_the_limit(markdown in markdown(), times in 1_usize..20) {
        let parts = encode(&markdown.repeat(times));
        prop_assert!(!parts.is_empty());
        for part in parts {
            let (text, entities) = shown(&part.html).map_err(TestCaseError::fail)?;
            prop_assert!(!is_blank(&text) && !is_blank(&part.plain));
            prop_assert!(utf16(&text) <= LIMIT && utf16(&part.plain) <= LIMIT && entities <= 100);
        }
    }

    #[test]
    fn no_word_is_lost_in_rendering(pieces in prop::collection::vec(prop_oneof![
        prop::sample::select(vec![
            "**", "*", "_", "~~", "\n", "\n\n", "- ", "1. ", "> ", "# ", "[", "](", ")", "]",
            "<", ">", "<b>", "&", "\\", "    ", "---\n", "===\n", " ", "`", "https://e.org/", "!",
        ]).prop_map(str::to_owned),
        (0_usize..30).prop_map(|word| format!("w{word}q")),
    ], 0..40)) {
        let markdown = pieces.concat();
        let html: String = encode(&markdown).into_iter().map(|part| part.html).collect();
        for word in pieces.iter().filter(|piece| piece.starts_with('w')) {
            prop_assert!(html.contains(word.as_str()), "{} of {:?} in {:?}", word, markdown, html);
        }
    }
}
