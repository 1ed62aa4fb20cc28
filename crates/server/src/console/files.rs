//! The files of the page, as they are written by hand: nothing is built.

/// A file.
pub struct PageFile {
    /// Its name behind `/console/`.
    pub name: &'static str,
    /// Its media type.
    pub kind: &'static str,
    /// What is in it.
    pub text: &'static str,
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const IMAGE: &str = "image/svg+xml";

const fn file(name: &'static str, kind: &'static str, text: &'static str) -> PageFile {
    PageFile { name, kind, text }
}

/// All of them.
#[rustfmt::skip] // a table reads best with one row a line
pub const FILES: &[PageFile] = &[
    file("index.html", HTML, include_str!("page/index.html")),
    file("console.css", CSS, include_str!("page/console.css")),
    file("icon.svg", IMAGE, include_str!("page/icon.svg")),
    file("main.js", SCRIPT, include_str!("page/main.js")),
    file("api.js", SCRIPT, include_str!("page/api.js")),
    file("dom.js", SCRIPT, include_str!("page/dom.js")),
    file("format.js", SCRIPT, include_str!("page/format.js")),
    file("overview.js", SCRIPT, include_str!("page/overview.js")),
    file("models.js", SCRIPT, include_str!("page/models.js")),
    file("query.js", SCRIPT, include_str!("page/query.js")),
    file("hits.js", SCRIPT, include_str!("page/hits.js")),
    file("timing.js", SCRIPT, include_str!("page/timing.js")),
    file("explain.js", SCRIPT, include_str!("page/explain.js")),
    file("charts.js", SCRIPT, include_str!("page/charts.js")),
    file("chart.js", SCRIPT, include_str!("page/chart.js")),
    file("metrics.js", SCRIPT, include_str!("page/metrics.js")),
    file("sequences.js", SCRIPT, include_str!("page/sequences.js")),
];
