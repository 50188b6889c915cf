use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

use super::escape::JOINT;
use super::*;
use crate::markdown::is_invisible;

fn one(markdown: &str) -> String {
    let parts = encode(markdown);
    assert_eq!(parts.len(), 1, "{parts:?}");
    parts.into_iter().next().unwrap().text
}

fn texts(markdown: &str) -> Vec<String> {
    encode(markdown).into_iter().map(|part| part.text).collect()
}

/// The lines that open or close a block of code.
fn is_fence(line: &str) -> bool {
    line.trim_start_matches("> ").starts_with("```")
}

/// Letters and digits that are shown, or what is wrong with the part.
fn letters(text: &str) -> Result<String, String> {
    let fences = text.lines().filter(|line| is_fence(line)).count();
    if fences % 2 == 1 {
        return Err(format!("a block of code is open: {text}"));
    }
    let lines = text.lines().filter(|line| !is_fence(line));
    Ok(lines.flat_map(str::chars).filter(|c| c.is_alphanumeric()).collect())
}

#[test]
fn markdown_becomes_discords_dialect() {
    for (markdown, expected) in [
        ("plain", "plain"),
        ("**bold** *italic* ~~gone~~ `code`", "**bold** _italic_ ~~gone~~ `code`"),
        ("***both***", "_**both**_"),
        ("wor*d*s and _**x** y_", "wor*d*s and _**x** y_"),
        ("a*b **c***d", "a*b **c**\u{200b}*d"),
        ("a < b && c > \"d\"", "a < b && c > \"d\""),
        ("one\ntwo  \nthree\n\n\nfour", "one\ntwo\nthree\n\nfour"),
        ("# A\ntext", "# A\n\ntext"),
        ("### A **b** c", "### A b c"),
        ("#### A _b_", "**A _b_**"),
        ("two\nlines\n=====", "# two lines"),
        ("> quoted\n> more\n\nafter", "> quoted\n> more\n\nafter"),
        ("> ```sh\n> ls\n> ```\n\nx", "> ```sh\n> ls\n> ```\n\nx"),
        ("> # A\n> - b", "> # A\n> \n> - b"),
        ("---\n\nx", "———\n\nx"),
        ("||hidden|| and a|b", "||hidden|| and a|b"),
        ("a\n\n- [x] done\n- [ ] open", "a\n\n☑ done\n☐ open"),
        ("<div>raw</div>", "<div>raw</div>"),
        ("a<br>b", "a\nb"),
        ("$5 and $6, 1^2, ~5", "$5 and $6, 1^2, ~5"),
    ] {
        assert_eq!(one(markdown), expected, "{markdown}");
    }
}

#[test]
fn links_have_no_preview() {
    for (markdown, expected) in [
        ("[here](https://e.org/?a=1&b=2)", "[here](<https://e.org/?a=1&b=2>)"),
        ("[**x** [y]](https://e.org)", "[**x** \\[y\\]](<https://e.org>)"),
        ("[w](https://e.org/R_(x))", "[w](<https://e.org/R_%28x%29>)"),
        ("see https://e.org/a_b_c*d, and", "see <https://e.org/a_b_c*d>, and"),
        ("(https://e.org/R_(x))", "(<https://e.org/R_(x)>)"),
        ("请看https://e.org/a。好", "请看<https://e.org/a>。好"),
        ("<https://e.org>", "<https://e.org>"),
        ("[https://a.org](https://b.org)", "<https://a.org> (<https://b.org>)"),
        ("[](https://e.org)", "<https://e.org>"),
        ("[here](javascript:x)", "here (javascript:x)"),
        ("[write](mailto:a@b.org)", "write (a@b.org)"),
        ("![a cat](https://e.org/c.png)", "[a cat](<https://e.org/c.png>)"),
        ("`https://e.org`", "`https://e.org`"),
        ("http:// is a scheme", "http:// is a scheme"),
    ] {
        assert_eq!(one(markdown), expected, "{markdown}");
    }
}

#[test]
fn what_the_model_meant_as_text_means_nothing_to_discord() {
    for (markdown, expected) in [
        ("snake_case_name and __init__ x", "snake_case_name and **init** x"),
        ("`x` \\_a\\_ \\_\\_init\\_\\_ a_b", "`x` \\_a\\_ \\_\\_init\\_\\_ a_b"),
        ("2 * 3 * 4", "2 \\* 3 \\* 4"),
        ("C:\\dir\\new and \\\\\\\\server", "C:\\dir\\new and \\\\\\server"),
        ("¯\\\\\\_(ツ)_/¯", "¯\\\\\\_(ツ)\\_/¯"),
        ("\\# not a heading", "\\# not a heading"),
        ("#channel and a # b", "#channel and a # b"),
        ("\\- not a list\n\\+ nor this", "\\- not a list\n\\+ nor this"),
        ("1\\. not a list, 1.5 either", "1\\. not a list, 1.5 either"),
        ("\\> not a quote\n\\>>> nor this", "\\> not a quote\n\\>>> nor this"),
        ("-# not small", "\\-# not small"),
        ("a \\~~b~~", "a \\~\\~b\\~\\~"),
        ("\\`not code\\`", "\\`not code\\`"),
        ("[a] (b) [c]\\(https://x)", "[a] (b) [c]\\(<https://x>)"),
        ("- \\- a\n- # b", "- \\- a\n- **b**"),
    ] {
        assert_eq!(one(markdown), expected, "{markdown}");
    }
}

#[test]
fn nobody_is_called() {
    for (markdown, expected) in [
        ("@everyone and @here", "@\u{200b}everyone and @\u{200b}here"),
        ("<@123> <@!123> <@&123>", "<@\u{200b}123> <@\u{200b}!123> <@\u{200b}&123>"),
        ("<#123> a@b.org @anna", "<#123> a@b.org @anna"),
    ] {
        assert_eq!(one(markdown), expected, "{markdown}");
    }
}

#[test]
fn lists_keep_their_shape() {
    for (markdown, expected) in [
        ("* a\n* b", "- a\n- b"),
        ("text\n\n3. a\n4. b\n\nafter", "text\n\n3. a\n4. b\n\nafter"),
        ("- a\n  - b\n    1. c\n- d", "- a\n   - b\n      1. c\n- d"),
        ("- a\n\n  more\n\n- b", "- a\n   more\n- b"),
        ("1. ```sh\n   ls\n   ```\n2. b", "1. \n```sh\nls\n```\n2. b"),
        ("- a\n  ```\n  x\n  ```", "- a\n```\nx\n```"),
        ("- > q\n- b", "- q\n- b"),
    ] {
        assert_eq!(one(markdown), expected, "{markdown}");
    }
}

#[test]
fn code_is_taken_as_it_stands() {
    for (markdown, expected) in [
        (
            "```rust\nfn a() {\n    b::<T>(*x);\n}\n```",
            "```rust\nfn a() {\n    b::<T>(*x);\n}\n```",
        ),
        ("```\n**x** @everyone\n```\nend", "```\n**x** @everyone\n```\n\nend"),
        ("````md\n```\nx\n```\n````", "```md\n``\u{200b}`\nx\n``\u{200b}`\n```"),
        ("```rust\nunclosed", "```rust\nunclosed\n```"),
        ("`` a`b ``", "``a`b``"),
        ("`` ` ``", "`` ` ``"),
        ("``` a``b ```", "``a`\u{200b}`b``"),
        ("`a\\*b`", "`a\\*b`"),
    ] {
        assert_eq!(one(markdown), expected, "{markdown}");
    }
}

#[test]
fn a_table_is_an_aligned_block_of_code() {
    let table = "| a | long |\n|---|---|\n| 1 | **x** |\n| 日本 | y |";
    assert_eq!(one(table), "```\na    | long\n-----+-----\n1    | x\n日本 | y\n```");
    let word = "w".repeat(50);
    let wide = format!("| a | b |\n|---|---|\n| {word} | {word} |");
    assert_eq!(one(&wide), format!("• a: {word}\n   b: {word}"));
}

#[test]
fn case_1_a_block_that_reaches_the_limit_is_closed_and_opened_again() {
    let line = "x = 'y'\n";
    let code = format!("{}{}", line.repeat(300), "z".repeat(1_990));
    let parts = texts(&format!("```python\n{code}\n```"));
    assert!(parts.len() > 2);
    for part in &parts {
        assert!(units(part) <= LIMIT, "{}", units(part));
        assert!(part.starts_with("```python\n") && part.ends_with("\n```"), "{part}");
    }
    let lines: usize = parts.iter().map(|part| part.matches("x = 'y'").count()).sum();
    let rest: usize = parts.iter().map(|part| part.matches('z').count()).sum();
    assert_eq!((lines, rest), (300, 1_990));
}

#[test]
fn case_2_prose_and_then_a_long_block_render_on_both_sides_of_the_cut() {
    let prose = "Some words of prose. ".repeat(72);
    let code = "let x = \"<&>\";\n".repeat(120);
    let parts = texts(&format!("{prose}\n\n```rust\n{code}```\n\nThe end."));
    assert_eq!(parts.len(), 2, "{parts:?}");
    assert_eq!(parts[0].matches("```").count() % 2, 0);
    assert!(parts[1].starts_with("```rust\nlet x"), "{}", parts[1]);
    assert!(parts[1].ends_with(";\n```\n\nThe end."), "{}", parts[1]);
    for part in &parts {
        letters(part).unwrap();
    }
}

#[test]
fn case_3_chinese_and_emoji_fill_a_message_and_are_never_cut_apart() {
    let parts = texts(&"明天下午三点开会👩‍👩‍👧‍👦。".repeat(400));
    let (last, full) = parts.split_last().unwrap();
    for part in full {
        // 1,997 code points, less than one sentence of 16.
        assert!((1_950..=1_997).contains(&units(part)), "{}", units(part));
        assert!(part.ends_with("👩‍👩‍👧‍👦。"), "{part}");
    }
    assert!(last.ends_with("👩‍👩‍👧‍👦。"));
}

#[test]
fn a_cut_style_is_closed_and_opened_again() {
    let parts = texts(&format!("**{}**", "bold words ".repeat(300).trim()));
    assert_eq!(parts.len(), 2);
    for part in &parts {
        assert!(part.starts_with("**bold") && part.ends_with("words**"), "{part}");
    }
    let parts = texts(&format!("> {}", "quoted words\n> ".repeat(300)));
    for part in &parts {
        assert!(part.lines().all(|line| line == "> quoted words"), "{part}");
    }
}

#[test]
fn what_begins_a_part_begins_no_list() {
    let parts = texts(&format!("{} - bar", "x".repeat(1_995)));
    assert_eq!(parts[1], "\\- bar");
}

#[test]
fn a_text_of_many_parts_is_its_first_part_and_a_file() {
    let eight = "x".repeat(8 * ROOM - 8);
    assert_eq!(encode(&eight).len(), 8);
    let parts = encode(&format!("```sh\n{}\n```", "echo hello\n".repeat(2_000)));
    let [part] = &parts[..] else { panic!("{} parts", parts.len()) };
    assert!(part.whole && units(&part.text) <= ROOM && units(&part.plain) <= ROOM);
    assert!(part.text.ends_with("\n```\n-# The whole text is in the attached file."), "{part:?}");
    assert!(!encode("short")[0].whole);
}

#[test]
fn nothing_is_never_sent() {
    for blank in ["", "  \n\t\n", "\u{200b}\u{feff}", "&#8203;", "[](<>)", "[]: x", "****"] {
        let parts = encode(blank);
        assert_eq!(parts.len(), 1);
        assert!(!is_blank(&parts[0].text) && !is_blank(&parts[0].plain), "{blank:?}");
    }
    assert_eq!(encode(" ")[0].text, "(empty answer)");
}

#[test]
fn a_marked_repeat_fits_and_keeps_what_begins_its_line() {
    assert_eq!(marked("hello"), "♻︎ hello");
    for begins in ["# A", "- a", "> q", "```\nx\n```", "12. a"] {
        assert_eq!(marked(begins), format!("♻︎\n{begins}"));
    }
    for part in encode(&"x".repeat(15_000)) {
        assert!(units(&marked(&part.text)) <= LIMIT && units(&marked(&part.plain)) <= LIMIT);
    }
}

#[test]
fn the_plain_form_is_the_source() {
    let parts = encode("* one **bold** word\n\n<@1>");
    assert_eq!(parts[0].plain, "* one **bold** word\n\n<@1>");
}

/// Markdown of all kinds, also broken, without links.
fn markdown() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "**",
            "*",
            "_",
            "__",
            "~~",
            "~",
            "`",
            "``",
            "```",
            "```rust\n",
            "````\n",
            "\n",
            "\n\n",
            "- ",
            "\n- ",
            "\n  - ",
            "\n1. ",
            "> ",
            "\n> ",
            "\n> ```\n> ",
            "# ",
            "\n#### ",
            "[",
            "]",
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
            "===\n",
            "👩‍👩‍👧‍👦",
            "e\u{301}",
            "日本語。",
            "\u{200d}",
            "\r\n",
            "$x$",
            "- [ ] ",
            "\u{0}",
            "||",
            "@everyone",
            "<@12>",
            "https://e.org/a_b",
            "1. ",
            "-# ",
            "+ ",
        ])
        .prop_map(str::to_owned),
        "[a-z .!]{1,30}",
        "\\PC{0,8}",
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn of_letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

#[test]
fn an_address_that_names_everybody_is_text_that_calls_nobody() {
    for (markdown, expected) in [
        ("https://e.org/@everyone", format!("https://e.org/@{JOINT}everyone")),
        ("<https://e.org/@here>", format!("https://e.org/@{JOINT}here")),
        ("https://e.org/@ana", "<https://e.org/@ana>".to_owned()),
    ] {
        assert_eq!(texts(markdown), [expected], "{markdown}");
    }
}

#[test]
fn what_begins_behind_a_bullet_begins_behind_the_box_that_takes_its_place() {
    assert_eq!(texts("\n- [ ] [\n  - "), ["☐ **[**"]);
}

proptest! {
    #[test]
    fn every_part_is_whole_in_itself_and_together_they_are_the_text(
        markdown in markdown(), room in 60_usize..300,
    ) {
        let styled = render(&markdown, &DIALECT);
        let (mut shown, mut source) = (String::new(), 0);
        for cut in cuts(&styled, room) {
            let text = write::write(&styled, cut.text);
            prop_assert!(!is_blank(&text));
            prop_assert!(units(&text) <= room, "{} characters: {:?}", units(&text), text);
            shown.push_str(&letters(&text).map_err(TestCaseError::fail)?);
            prop_assert!(cut.source.start >= source && cut.source.end >= cut.source.start);
            source = cut.source.end;
        }
        prop_assert_eq!(shown, of_letters(&styled.text));
    }

    #[test]
    fn no_cut_stands_inside_a_cluster(text in "(\\PC|👩‍👩‍👧‍👦|e\u{301}| |\n){0,80}", room in 60_usize..90) {
        let styled = Styled::plain(&text);
        let mut borders: Vec<_> = text.grapheme_indices(true).map(|(at, _)| at).collect();
        borders.push(text.len());
        for cut in cuts(&styled, room) {
            prop_assert!(borders.contains(&cut.text.start) && borders.contains(&cut.text.end));
        }
    }

    #[test]
    fn every_answer_is_sent_within_the_limit(markdown in markdown(), times in 1_usize..40) {
        let parts = encode(&markdown.repeat(times));
        prop_assert!((1..=PARTS).contains(&parts.len()));
        for part in parts {
            prop_assert!(!is_blank(&part.text) && !is_blank(&part.plain));
            prop_assert!(units(&marked(&part.text)) <= LIMIT, "{}", part.text);
            prop_assert!(units(&marked(&part.plain)) <= LIMIT, "{}", part.plain);
        }
    }

    #[test]
    fn no_word_is_lost_and_nobody_called(pieces in prop::collection::vec(prop_oneof![
        prop::sample::select(vec![
            "**", "*", "_", "~~", "\n", "\n\n", "- ", "1. ", "> ", "# ", "[", "](", ")", "]", "<",
            ">", "<b>", "&", "\\", "    ", "---\n", "===\n", " ", "`", "https://e.org/", "!", "@",
            "@everyone", "<@", "<@&", "here", "1",
        ]).prop_map(str::to_owned),
        (0_usize..30).prop_map(|word| format!("w{word}q")),
    ], 0..40)) {
        let markdown = pieces.concat();
        let text: String = texts(&markdown).concat();
        for word in pieces.iter().filter(|piece| piece.starts_with('w')) {
            prop_assert!(text.contains(word.as_str()), "{} of {:?} in {:?}", word, markdown, text);
        }
        let in_words = !markdown.contains(['`', '(']) && !markdown.contains("    ");
        let calls = text.contains("@everyone") || text.contains("@here") || text.contains("<@1");
        prop_assert!(!in_words || !calls, "{:?} in {:?}", markdown, text);
    }

    #[test]
    fn any_text_as_a_whole_message_is_encoded_alike_twice(text in "\\PC{0,200}") {
        prop_assert_eq!(encode(&text), encode(&text));
        let shown: String = encode(&text).into_iter().map(|part| part.text).collect();
        prop_assert!(shown.chars().any(|c| !is_invisible(c)));
    }
}
