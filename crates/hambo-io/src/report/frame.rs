//! What all pages have in common.

use super::figures::{Figure, STYLE};
use super::text::escape;

const PAGE_STYLE: &str = include_str!("page.css");

/// A page that stands alone; `content` is HTML.
pub(super) fn whole(title: &str, word: &str, content: &str, version: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}: {}</title>\n\
         <style>{STYLE}{PAGE_STYLE}</style>\n</head>\n<body>\n<main>\n{content}\n\
         <footer>hambo {}</footer>\n</main>\n</body>\n</html>\n",
        escape(title),
        escape(word),
        escape(version),
    )
}

/// A word in a box, with a sign that is drawn along `path`; the word is HTML.
pub(super) fn badge(path: &str, word: &str) -> String {
    format!(
        "<p class=\"badge\"><svg viewBox=\"0 0 24 24\" aria-hidden=\"true\"><path d=\"{path}\"/></svg>{word}</p>"
    )
}

/// Signs for good news, for bad, and for neither.
pub(super) const YES: &str = "M4 12.5l5 5L20 6.5";
pub(super) const NO: &str = "M6 6l12 12M18 6L6 18";
pub(super) const UNSURE: &str = "M8 8.5a4 4 0 1 1 5.5 3.7c-1 .5-1.5 1.1-1.5 2.3M12 18.6v.1";

pub(super) fn picture(figure: &Figure) -> String {
    let drawings: Vec<String> = figure.drawings.iter().map(|d| d.element("")).collect();
    let content = match drawings.len() {
        1 if figure.drawings[0].width > 300.0 => drawings.concat(),
        _ => format!("<div class=\"panels\">{}</div>", drawings.concat()),
    };
    let (heading, caption) = (escape(figure.heading), escape(&figure.caption));
    format!("<figure><h3>{heading}</h3>{content}<figcaption>{caption}</figcaption></figure>")
}
