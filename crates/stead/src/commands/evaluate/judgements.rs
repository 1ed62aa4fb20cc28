//! What people have judged: `qrels/test.tsv` of BEIR, `qrels.txt` of TREC.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::files;
use crate::failure::Failure;

/// The grades of the documents of a query.
pub(super) type Grades = HashMap<String, f64>;

/// The judgements of a file.
#[derive(Debug, Default)]
pub(super) struct Judgements {
    by_query: HashMap<String, Grades>,
    /// Whether documents have whole ids, `id:ns:type::1`.
    has_ids: bool,
}

impl Judgements {
    /// Those of a file: `query document grade`, as BEIR has them, with a line of names before, or `query 0 document grade`, as TREC has
    /// them.
    pub(super) fn read(path: &Path) -> Result<Judgements, Failure> {
        let mut found = Judgements::default();
        files::lines(path, files::open(path)?, |number, line| {
            if let Some((query, document, grade)) = judgement(number, line)? {
                found.has_ids |= user_part(document) != document;
                let of_query = found.by_query.entry(query.to_owned()).or_default();
                of_query.insert(document.to_owned(), grade);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Of a query, if one of its documents is relevant.
    pub(super) fn of(&self, query: &str) -> Option<&Grades> {
        let grades = self.by_query.get(query)?;
        grades.values().any(|grade| *grade > 0.0).then_some(grades)
    }

    /// The names by which the judgements of a query know its hits, or would know them: ids, or what stands last in them.
    pub(super) fn names<'i>(&self, query: &str, ids: impl Iterator<Item = &'i str>) -> Vec<String> {
        let grades = self.by_query.get(query);
        let has = |name: &str| grades.is_some_and(|grades| grades.contains_key(name));
        let mut seen = HashSet::new();
        let name = |id: &'i str| match user_part(id) {
            // Documents of two types may end alike; one of them is the document that was judged.
            part if !has(id) && (has(part) || !self.has_ids) && seen.insert(part) => part,
            _ => id,
        };
        ids.map(name).map(str::to_owned).collect()
    }
}

fn judgement(number: usize, line: &str) -> Result<Option<(&str, &str, f64)>, String> {
    let parts: Vec<&str> = line.split_whitespace().collect();
    let (query, document, grade) = match parts[..] {
        [query, document, grade] | [query, _, document, grade] => (query, document, grade),
        _ => return Err("expected a query, a document and a grade".to_owned()),
    };
    match grade.parse::<f64>().ok().filter(|grade| grade.is_finite()) {
        Some(grade) => Ok(Some((query, document, grade))),
        // Names of columns.
        None if number == 1 => Ok(None),
        None => Err(format!("expected a grade, found {grade:.40}")),
    }
}

/// The last part of an id, `1` of `id:ns:type::1` and `id:ns:type:g=x:1`; anything else as it is.
pub(super) fn user_part(id: &str) -> &str {
    id.strip_prefix("id:").and_then(|rest| rest.splitn(4, ':').nth(3)).unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::{Grades, Judgements, judgement, user_part};

    #[test]
    fn judgements_have_three_or_four_columns() {
        for (number, line, expected) in [
            (1, "query-id\tcorpus-id\tscore", Ok(None)),
            (1, "1\td\t2", Ok(Some(("1", "d", 2.0)))),
            (2, "1 0 d 0.5", Ok(Some(("1", "d", 0.5)))),
            (2, "1 Q0 id:a:b::d -1", Ok(Some(("1", "id:a:b::d", -1.0)))),
            (2, "1 d inf", Err("expected a grade, found inf".to_owned())),
            (2, "1 d", Err("expected a query, a document and a grade".to_owned())),
        ] {
            assert_eq!(judgement(number, line), expected, "{line}");
        }
    }

    #[test]
    fn ids_end_with_what_their_user_chose() {
        for (id, part) in [
            ("id:a:b::1", "1"),
            ("id:a:b:n=1:x", "x"),
            ("id:a:b:g=x:y:z", "y:z"),
            ("id:a:b::x::y", "x::y"),
            ("MED-1", "MED-1"),
            ("x::y", "x::y"),
            ("id:a", "id:a"),
        ] {
            assert_eq!(user_part(id), part, "{id}");
        }
    }

    #[test]
    fn hits_are_known_as_the_judgements_know_them() {
        for (label, judged, ids, expected) in [
            ("by their ends", "1", "id:a:b::1 id:a:b:g=x:2", "1 2"),
            ("by their ids", "id:a:b::1", "id:a:b::1 id:a:b::2", "id:a:b::1 id:a:b::2"),
            ("by either", "id:a:b::1 2", "id:a:b::1 id:a:b::2 id:a:b::3", "id:a:b::1 2 id:a:b::3"),
            ("each once", "1", "id:a:b::1 id:a:c::1", "1 id:a:c::1"),
        ] {
            let grades: Grades = judged.split(' ').map(|name| (name.to_owned(), 1.0)).collect();
            let has_ids = judged.contains("id:");
            let by_query = [("q".to_owned(), grades)].into();
            let judgements = Judgements { by_query, has_ids };
            let found = judgements.names("q", ids.split(' '));
            assert_eq!(found.join(" "), expected, "{label}");
        }
    }
}
