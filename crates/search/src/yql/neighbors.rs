//! Which vectors of a query are compared with which fields.

use super::tree::{Expr, Node, Statement};

/// `({label: "name"}nearestNeighbor(field, name))`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbor {
    /// The field of vectors.
    pub field: String,
    /// The name of the query's vector.
    pub query: String,
    /// What features know it by.
    pub label: Option<String>,
}

impl Statement {
    /// The operators `nearestNeighbor` of it, in the order in which they stand.
    #[must_use]
    pub fn neighbors(&self) -> Vec<Neighbor> {
        let mut found = Vec::new();
        // The last is the next; labels are inherited by what is in an annotated part.
        let mut waiting = vec![(&self.filter, None)];
        while let Some((node, outer)) = waiting.pop() {
            let label = node.annotation("label").or(outer);
            if let Expr::Call(name, arguments) = &node.expr
                && name == "nearestNeighbor"
                && let [field, query] = &arguments[..]
                && let (Some(field), Some(query)) = (name_of(field), name_of(query))
            {
                let label = label.and_then(name_of);
                found.push(Neighbor { field, query, label });
            }
            waiting.extend(node.parts().into_iter().rev().map(|part| (part, label)));
        }
        found
    }
}

/// A name or a text.
fn name_of(node: &Node) -> Option<String> {
    match &node.expr {
        Expr::Field(name) | Expr::Text(name) => Some(name.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;

    #[test]
    fn neighbors_are_found() {
        for (filter, expected) in [
            ("true", vec![]),
            ("nearestNeighbor(v, q)", vec![("v", "q", None)]),
            (
                "({targetHits:10, label: \"a\"}nearestNeighbor(v,q)) or ({label:'b'}nearestNeighbor(w,r))",
                vec![("v", "q", Some("a")), ("w", "r", Some("b"))],
            ),
            (
                "[{\"targetHits\":10,\"label\":\"a\"}]nearestNeighbor(v, q)",
                vec![("v", "q", Some("a"))],
            ),
            ("rank({label: 'a'}nearestNeighbor(v,q), x = 1)", vec![("v", "q", Some("a"))]),
            ("{label: 'a'}(x = 1 and nearestNeighbor(v,q))", vec![("v", "q", Some("a"))]),
            ("nearestNeighbor(v)", vec![]),
        ] {
            let statement = parse(&format!("select * from d where {filter}")).unwrap();
            let neighbors = statement.neighbors();
            let found: Vec<_> = neighbors
                .iter()
                .map(|n| (n.field.as_str(), n.query.as_str(), n.label.as_deref()))
                .collect();
            assert_eq!(found, expected, "{filter}");
        }
    }
}
