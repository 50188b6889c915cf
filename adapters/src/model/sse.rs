//! Server-sent events, read as they come. Knows lines and fields; what the data means is its
//! caller's.

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    /// The field `event`, empty where it was not sent.
    pub(super) name: String,
    /// The `data` lines, joined by line feeds.
    pub(super) data: String,
}

/// An event grew past the limit; nothing more of the stream is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLong;

/// Takes bytes, however they are cut, and gives whole events.
#[derive(Debug)]
pub(super) struct Sse {
    /// The line so far.
    line: Vec<u8>,
    /// The event so far; None until its first `data` line.
    data: Option<String>,
    name: String,
    /// The last byte was a carriage return: a line feed after it ends no second line.
    after_return: bool,
    /// No line has ended yet: it may begin with a byte order mark.
    first: bool,
    /// The most bytes of one event.
    limit: usize,
}

impl Sse {
    /// A reader that refuses an event of more than `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        let (line, name) = (Vec::new(), String::new());
        Self { line, data: None, name, after_return: false, first: true, limit }
    }

    /// The events that these bytes complete.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<Event>, TooLong> {
        let mut events = Vec::new();
        if self.after_return && bytes.first() == Some(&b'\n') {
            bytes = &bytes[1..];
            self.after_return = false;
        }
        while !bytes.is_empty() {
            self.after_return = false;
            let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.grow(bytes)?;
                break;
            };
            self.grow(&bytes[..end])?;
            let is_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            match bytes.first() {
                Some(b'\n') if is_return => bytes = &bytes[1..],
                None => self.after_return = is_return,
                Some(_) => {}
            }
            events.extend(self.end_line());
        }
        Ok(events)
    }

    /// The event that the end of the stream completes: some servers leave out the last empty line.
    pub(super) fn finish(mut self) -> Option<Event> {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.end_event()
    }

    fn grow(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        let held = self.line.len() + self.data.as_ref().map_or(0, String::len);
        if held + bytes.len() > self.limit {
            return Err(TooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let line = if self.first { line.trim_start_matches('\u{feff}') } else { &line };
        self.first = false;
        if line.is_empty() {
            return self.end_event();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            "event" => value.clone_into(&mut self.name),
            // Comments (an empty field), `id`, `retry`, and what nobody knows.
            _ => {}
        }
        None
    }

    fn end_event(&mut self) -> Option<Event> {
        let name = std::mem::take(&mut self.name);
        self.data.take().map(|data| Event { name, data })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(chunks: &[&[u8]]) -> Vec<Event> {
        let mut sse = Sse::new(1 << 20);
        let mut events: Vec<Event> =
            chunks.iter().flat_map(|chunk| sse.push(chunk).unwrap()).collect();
        events.extend(sse.finish());
        events
    }

    fn data(bytes: &[u8]) -> Vec<String> {
        read(&[bytes]).into_iter().map(|event| event.data).collect()
    }

    #[test]
    fn every_kind_of_line_end_ends_one_line() {
        for text in
            ["data: a\n\ndata: b\n\n", "data: a\r\n\r\ndata: b\r\n\r\n", "data: a\r\rdata: b\r\r"]
        {
            assert_eq!(data(text.as_bytes()), ["a", "b"], "{text:?}");
        }
    }

    #[test]
    fn comments_and_unknown_fields_are_passed_over() {
        assert_eq!(data(b": keep-alive\n\nid: 4\nretry: 9\nwhat\ndata: a\n: more\n\n:\n\n"), ["a"]);
    }

    #[test]
    fn several_data_lines_are_one_event() {
        assert_eq!(data(b"data: a\ndata:b\ndata:  c\n\n"), ["a\nb\n c"]);
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_line() {
        assert_eq!(data("\u{feff}data: a\n\n".as_bytes()), ["a"]);
    }

    #[test]
    fn an_event_has_the_name_it_was_sent_with() {
        let events = read(&[b"event: error\ndata: a\n\ndata: b\n\n"]);
        assert_eq!(events[0], Event { name: "error".into(), data: "a".into() });
        assert_eq!(events[1], Event { name: String::new(), data: "b".into() });
    }

    #[test]
    fn the_last_event_needs_no_empty_line() {
        assert_eq!(data(b"data: a\n\ndata: [DONE]"), ["a", "[DONE]"]);
    }

    #[test]
    fn an_event_past_the_limit_is_refused_and_not_kept() {
        let mut sse = Sse::new(100);
        assert_eq!(sse.push(b"data: "), Ok(vec![]));
        assert_eq!(sse.push(&[b'x'; 200]), Err(TooLong));
        let mut sse = Sse::new(100);
        let lines = b"data: 0123456789\n".repeat(20);
        assert_eq!(sse.push(&lines), Err(TooLong));
    }

    proptest! {
        #[test]
        fn it_does_not_matter_where_the_bytes_are_cut(
            lines in proptest::collection::vec("(data: ?|event: |: )?[a-zä😀]{0,6}", 0..12),
            ends in proptest::collection::vec(prop_oneof!["\n", "\r", "\r\n"], 12),
        ) {
            let text: String = lines.iter().zip(&ends).map(|(line, end)| format!("{line}{end}")).collect();
            let whole = read(&[text.as_bytes()]);
            for at in 0..=text.len() {
                let (before, after) = text.as_bytes().split_at(at);
                prop_assert_eq!(&read(&[before, after]), &whole);
            }
            let single: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            prop_assert_eq!(&read(&single), &whole);
        }

        #[test]
        fn no_bytes_make_it_fail(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            read(&[&bytes]);
        }
    }
}
