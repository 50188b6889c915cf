//! Tables, which chats have none of: aligned text where it fits the width, else a bullet a row with
//! each value beside its heading.

use unicode_segmentation::UnicodeSegmentation;

/// A table's cells, the heading row first. Cells are plain text.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Begins a row.
    pub(crate) fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    /// Begins a cell.
    pub(crate) fn cell(&mut self) {
        if let Some(row) = self.rows.last_mut() {
            row.push(String::new());
        }
    }

    /// Adds to the cell.
    pub(crate) fn push(&mut self, text: &str) {
        if let Some(cell) = self.rows.last_mut().and_then(|row| row.last_mut()) {
            cell.push_str(&text.replace('\n', " "));
        }
    }

    /// Adds a link's address, where the cell does not end with it.
    pub(crate) fn push_address(&mut self, address: &str) {
        if let Some(cell) = self.rows.last_mut().and_then(|row| row.last_mut())
            && !cell.ends_with(address)
        {
            cell.push_str(&format!(" ({address})"));
        }
    }

    /// Its lines, aligned. None where they take more than `widest` columns of a fixed-width font.
    pub(crate) fn aligned(&self, widest: usize) -> Option<String> {
        let widths = self.widths();
        let gaps = 3 * widths.len().saturating_sub(1);
        if widths.iter().sum::<usize>() + gaps > widest {
            return None;
        }
        let mut lines: Vec<String> =
            self.rows.iter().map(|row| aligned_row(row, &widths)).collect();
        if lines.len() > 1 {
            let rule: Vec<_> = widths.iter().map(|width| "-".repeat(*width)).collect();
            lines.insert(1, rule.join("-+-"));
        }
        Some(lines.join("\n"))
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let width_of = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| width(cell)).max().unwrap_or_default()
        };
        (0..columns).map(width_of).collect()
    }

    /// Its rows as bullets.
    pub(crate) fn bullets(&self) -> String {
        let Some((head, rows)) = self.rows.split_first() else { return String::new() };
        if rows.is_empty() {
            return head.join(" | ");
        }
        let lines = rows.iter().map(|row| {
            let cells = row.iter().enumerate().map(|(column, cell)| match head.get(column) {
                Some(name) if !name.is_empty() => format!("{name}: {cell}"),
                _ => cell.clone(),
            });
            format!("• {}", cells.collect::<Vec<_>>().join("\n   "))
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

fn aligned_row(row: &[String], widths: &[usize]) -> String {
    let empty = String::new();
    let cells = widths.iter().enumerate().map(|(column, wide)| {
        let cell = row.get(column).unwrap_or(&empty);
        format!("{cell}{}", " ".repeat(wide - width(cell).min(*wide)))
    });
    cells.collect::<Vec<_>>().join(" | ").trim_end().to_owned()
}

/// Columns in a fixed-width font: East Asian letters and emoji take two.
fn width(text: &str) -> usize {
    let wide = |c: char| {
        matches!(c, '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}' | '\u{1f300}'..='\u{1faff}' | '\u{20000}'..='\u{3fffd}')
    };
    text.graphemes(true).map(|cluster| if cluster.chars().any(wide) { 2 } else { 1 }).sum()
}
