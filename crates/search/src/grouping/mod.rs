//! Groupings of matches: what clients write behind `|` or in `select`
//! (Vespa, documentation, `reference/querying/grouping-language.html`).

pub mod syntax;
