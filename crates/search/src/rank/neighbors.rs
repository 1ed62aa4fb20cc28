//! Which vectors of a query are compared with which fields.

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

/// The operators in YQL. Nothing else of it concerns documents that all match.
pub(super) fn neighbors(yql: &str) -> Vec<Neighbor> {
    const OPERATOR: &str = "nearestNeighbor(";
    let mut found = Vec::new();
    let mut rest = yql;
    while let Some(at) = rest.find(OPERATOR) {
        let (before, behind) = (&rest[..at], &rest[at + OPERATOR.len()..]);
        let inner = behind.split(')').next().unwrap_or_default();
        if let Some((field, query)) = inner.split_once(',') {
            // The annotations end right before the operator.
            let end = before.trim_end().trim_end_matches(']').trim_end();
            let annotations = end.strip_suffix('}').and_then(|t| t.rsplit_once('{'));
            let label = annotations.and_then(|(_, inside)| label(inside));
            let (field, query) = (field.trim().to_owned(), query.trim().to_owned());
            found.push(Neighbor { field, query, label });
        }
        rest = behind;
    }
    found
}

/// The value of `label: "name"` among annotations.
fn label(annotations: &str) -> Option<String> {
    let pair = annotations.split(',').find_map(|part| {
        let (key, value) = part.split_once(':')?;
        (key.trim().trim_matches(['"', '\'']) == "label").then(|| value.trim())
    })?;
    Some(pair.trim_matches(['"', '\'']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::neighbors;

    #[test]
    fn neighbors_are_found_in_yql() {
        for (yql, expected) in [
            ("select * from d where true", vec![]),
            ("select * from d where nearestNeighbor(v, q)", vec![("v", "q", None)]),
            (
                "select * from d where ({targetHits:10, label: \"a\"}nearestNeighbor(v,q)) or ({label:'b'}nearestNeighbor(w,r))",
                vec![("v", "q", Some("a")), ("w", "r", Some("b"))],
            ),
            (
                "where [{\"targetHits\":10,\"label\":\"a\"}]nearestNeighbor(v, q);",
                vec![("v", "q", Some("a"))],
            ),
            ("where nearestNeighbor(", vec![]),
        ] {
            let neighbors = neighbors(yql);
            let found: Vec<_> = neighbors
                .iter()
                .map(|n| (n.field.as_str(), n.query.as_str(), n.label.as_deref()))
                .collect();
            assert_eq!(found, expected, "{yql}");
        }
    }
}
