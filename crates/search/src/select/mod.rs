//! Queries as JSON: `select.where` to the tree that the same query is in [YQL](crate::yql), `select.grouping` to texts of
//! [groupings](crate::grouping) (Vespa, documentation, `reference/querying/json-query-language.html`; what its page leaves open:
//! `container-search/src/main/java/com/yahoo/search/query/SelectParser.java`).
//!
//! ```
//! use stead_search::select::{groupings, read};
//! use stead_search::yql::Expr;
//!
//! let statement = read(r#"{"and_not": [{"contains": ["title", "blue"]}, {"range": ["year", {"<": 1970}]}]}"#).unwrap();
//! assert!(matches!(&statement.filter.expr, Expr::And(parts) if matches!(parts[1].expr, Expr::Not(_))));
//!
//! let texts = groupings(r#"[{"all": {"group": "year", "each": {"output": "count()"}}}]"#).unwrap();
//! assert_eq!(texts, ["all(group(year) each(output(count())))"]);
//!
//! let error = read(r#"{"and": [{"contains": ["title"]}]}"#).unwrap_err();
//! assert_eq!(error.to_string(), "and[0].contains: expected 2 children, found 1");
//! ```

mod call;
mod error;
mod filter;
mod form;
mod grouping;
mod numbers;
mod words;

pub use error::SelectError;
pub use grouping::groupings;

use crate::ordered::Ordered;
use crate::yql::{Expr, MAX_DEPTH, MAX_NODES, MAX_TEXT, Node, Statement};

/// Reads `select.where`: a statement that says what documents must be, and nothing else.
///
/// # Errors
/// Where the text is no such query, and what was expected there.
pub fn read(text: &str) -> Result<Statement, SelectError> {
    let mut reader = Reader { depth: 0, nodes: 0, is_element: false };
    let filter = reader.part(&json(text)?)?;
    Ok(Statement {
        fields: Vec::new(),
        sources: Vec::new(),
        filter,
        order: Vec::new(),
        limit: None,
        offset: None,
        timeout: None,
        groupings: Vec::new(),
    })
}

/// The names of `select.fields`.
///
/// # Errors
/// When it is no list of texts.
pub fn fields(text: &str) -> Result<Vec<String>, SelectError> {
    let expected = || SelectError::new("expected a list of names");
    let Ordered::List(list) = json(text)? else { return Err(expected()) };
    let name = |name| if let Ordered::Text(name) = name { Ok(name) } else { Err(expected()) };
    list.into_iter().map(name).collect()
}

fn json(text: &str) -> Result<Ordered, SelectError> {
    if text.len() > MAX_TEXT {
        let length = text.len();
        return Err(SelectError::new(format!("{length} bytes of JSON; {MAX_TEXT} is the most")));
    }
    Ordered::read(text).map_err(|error| SelectError::new(format!("Json parse error. {error}")))
}

/// A query that is being read.
struct Reader {
    depth: usize,
    nodes: usize,
    /// Whether parts are about the elements of a field.
    is_element: bool,
}

impl Reader {
    /// Goes one level deeper, if there is one.
    fn enter(&mut self) -> Result<(), SelectError> {
        self.depth += 1;
        match self.depth > MAX_DEPTH {
            true => Err(SelectError::new(format!("more than {MAX_DEPTH} levels of nesting"))),
            false => Ok(()),
        }
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Counts a node of the tree.
    fn node(&mut self, expr: Expr) -> Result<Node, SelectError> {
        self.nodes += 1;
        match self.nodes > MAX_NODES {
            true => Err(SelectError::new(format!("more than {MAX_NODES} values and operators"))),
            false => Ok(Node { at: 0, annotations: Vec::new(), expr }),
        }
    }
}

#[cfg(test)]
mod tests;
