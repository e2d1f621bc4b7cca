//! Pieces of HTML that several sections are made of.

use super::text::escape;

/// A section, or nothing if it has no content. `id` is the name that links use.
pub(super) fn section(id: &str, heading: &str, lead: &str, content: &str) -> String {
    if content.is_empty() {
        return String::new();
    }
    let lead = match lead {
        "" => String::new(),
        lead => format!("<p class=\"lead\">{}</p>", escape(lead)),
    };
    format!("<section id=\"{id}\"><h2>{}</h2>{lead}{content}</section>", escape(heading))
}

/// A column's heading, and whether it holds numbers.
pub(super) type Column<'a> = (&'a str, bool);

pub(super) const TEXT: bool = false;
pub(super) const NUMBER: bool = true;

/// Columns that a phone has room for beside each other.
const MOST_NARROW: usize = 4;

/// A table; headings are text, cells are HTML. `main` is the row that is emphasised. Rows may be
/// shorter than the head.
pub(super) fn table(columns: &[Column<'_>], rows: &[Vec<String>], main: Option<usize>) -> String {
    let class = |column: usize| match columns.get(column) {
        Some((_, NUMBER)) => " class=\"number\"",
        _ => "",
    };
    // On a narrow screen some tables have no room for a head, and cells say what they are.
    let about = |column: usize| {
        let label =
            columns.get(column).map(|(name, _)| format!(" data-label=\"{}\"", escape(name)));
        format!("{}{}", class(column), label.unwrap_or_default())
    };
    let head = columns.iter().enumerate().map(|(column, (name, _))| {
        format!("<th scope=\"col\"{}>{}</th>", class(column), escape(name))
    });
    let head: String = head.collect();
    let row = |(index, cells): (usize, &Vec<String>)| {
        let cells = cells.iter().enumerate().map(|(column, cell)| match column {
            0 => format!("<th scope=\"row\">{cell}</th>"),
            _ => format!("<td{}>{cell}</td>", about(column)),
        });
        let emphasis = if main == Some(index) { " class=\"main\"" } else { "" };
        format!("<tr{emphasis}>{}</tr>", cells.collect::<String>())
    };
    let body: String = rows.iter().enumerate().map(row).collect();
    let scroll = if columns.len() > MOST_NARROW { "scroll stacks" } else { "scroll" };
    format!(
        "<div class=\"{scroll}\"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
}

/// Names and what there is to say about them; what is said is HTML.
pub(super) fn facts(facts: &[(&str, String)]) -> String {
    let rows = facts.iter().map(|(name, value)| {
        format!("<tr><th scope=\"row\">{}</th><td>{value}</td></tr>", escape(name))
    });
    let rows: String = rows.collect();
    format!("<div class=\"scroll\"><table class=\"list\"><tbody>{rows}</tbody></table></div>")
}

/// Folds away what is too long to be read by most.
pub(super) fn folded(summary: &str, content: &str) -> String {
    format!("<details><summary>{}</summary>{content}</details>", escape(summary))
}
