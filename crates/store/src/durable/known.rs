//! What is known of documents while operations with them are decided: as little as it takes, since the rest may lie on disk.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::record::Fields;
use crate::change::Edit;
use crate::indexing::Scripts;
use crate::kind::DocumentType;
use crate::operation::{Action, Operation};

/// What is known of a document that is there.
#[derive(Debug, Clone)]
pub(super) struct Known {
    /// The values of fields that are known, in the order of their numbers.
    pub(super) fields: Arc<Fields>,
    /// The fields of which it is known whether they have a value, and which; all if none are named.
    only: Option<Arc<BTreeSet<usize>>>,
}

impl Known {
    /// A document with these fields and no others.
    pub(super) fn whole(fields: Arc<Fields>) -> Known {
        Known { fields, only: None }
    }

    /// A document of which these fields are known; those without a value have none.
    pub(super) fn part(fields: Fields, numbers: BTreeSet<usize>) -> Known {
        Known { fields: Arc::new(fields), only: Some(Arc::new(numbers)) }
    }

    /// Whether it is known what a field is.
    pub(super) fn has(&self, field: usize) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(&field))
    }

    /// The same with what is known of further fields.
    pub(super) fn and(&self, more: Fields, numbers: &BTreeSet<usize>) -> Known {
        let Some(only) = &self.only else { return self.clone() };
        let mut fields = Fields::clone(&self.fields);
        fields.extend(more.into_iter().filter(|(field, _)| !only.contains(field)));
        fields.sort_by_key(|(field, _)| *field);
        Known::part(fields, only.union(numbers).copied().collect())
    }

    /// The document when some of its fields are others: these are all that are known then.
    pub(super) fn changed(self, fields: Arc<Fields>, numbers: &BTreeSet<usize>) -> Known {
        let only = self.only.map(|only| Arc::new(only.union(numbers).copied().collect()));
        Known { fields, only }
    }
}

/// What must be known of a document for an operation with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Need {
    /// A put without a condition does not care what is there.
    Nothing,
    /// Whether it is there, and what these fields are.
    Fields(BTreeSet<usize>),
}

impl Need {
    pub(super) fn of(
        operation: &Operation,
        kind: &DocumentType,
        scripts: Option<&Scripts>,
    ) -> Need {
        let condition = operation.condition.as_ref();
        let mut needed = condition.map_or_else(BTreeSet::new, |of| of.fields_of(kind));
        match &operation.action {
            Action::Put { .. } if condition.is_none() => return Need::Nothing,
            Action::Put { .. } | Action::Remove => {}
            Action::Update { changes, .. } => {
                // Another value in the place of the whole depends on nothing.
                let depends = changes.iter().filter(|change| {
                    !(change.path.is_empty() && matches!(change.edit, Edit::Assign(_)))
                });
                needed.extend(depends.map(|change| change.field));
                let changed: BTreeSet<usize> = changes.iter().map(|change| change.field).collect();
                needed.extend(scripts.iter().flat_map(|scripts| scripts.needed(&changed)));
            }
        }
        Need::Fields(needed)
    }
}

#[cfg(test)]
mod tests {
    use stead_app::application::Application;
    use stead_app::package::PackageFiles;
    use stead_app::services::ServicesOptions;

    use super::{Known, Need};
    use crate::indexing::Scripts;
    use crate::kind::DocumentType;
    use crate::operation::Operation;
    use crate::value::FieldValue;

    const SCHEMA: &str = "schema d {
      document d {
        field a type int { indexing: attribute }
        field b type int { indexing: attribute }
        field c type map<string,int> { indexing: summary }
        field t type string { indexing: summary }
      }
      field sum type int { indexing: input a + input b | attribute }
      field low type string { indexing: input t | lowercase | attribute }
    }";

    #[test]
    fn no_more_is_read_than_an_operation_depends_on() {
        let files = PackageFiles::from_texts([("schemas/d.sd", SCHEMA)]).unwrap();
        let (application, _) = Application::read(&files, ServicesOptions::default());
        let schema = application.schema("d").unwrap();
        let kind = DocumentType::new(schema);
        let scripts = Scripts::new(schema, &kind);
        for (json, alone, with_scripts) in [
            (r#""put": "id:n:d::1", "fields": {"a": 1}"#, None, None),
            (
                r#""put": "id:n:d::1", "condition": "d.a > 5", "fields": {"b": 1}"#,
                Some("a"),
                Some("a"),
            ),
            (r#""remove": "id:n:d::1""#, Some(""), Some("")),
            (r#""remove": "id:n:d::1", "condition": "id.user == 5""#, Some(""), Some("")),
            (r#""remove": "id:n:d::1", "condition": "d.a > d.b""#, Some("a b"), Some("a b")),
            (r#""update": "id:n:d::1", "fields": {"t": {"assign": "x"}}"#, Some(""), Some("t")),
            (r#""update": "id:n:d::1", "fields": {"c": {"assign": null}}"#, Some(""), Some("")),
            (r#""update": "id:n:d::1", "fields": {"c": {"assign": {"k": 1}}}"#, Some(""), Some("")),
            (r#""update": "id:n:d::1", "fields": {"c{k}": {"assign": 5}}"#, Some("c"), Some("c")),
            (r#""update": "id:n:d::1", "fields": {"a": {"increment": 5}}"#, Some("a"), Some("a b")),
            (
                r#""update": "id:n:d::1", "condition": "d.a == 1", "fields": {"t": {"assign": "x"}}"#,
                Some("a"),
                Some("a t"),
            ),
        ] {
            let operation = Operation::read(&kind, format!("{{{json}}}").as_bytes()).unwrap();
            for (scripts, expected) in [(None, alone), (Some(&scripts), with_scripts)] {
                let found = match Need::of(&operation, &kind, scripts) {
                    Need::Nothing => None,
                    Need::Fields(numbers) => {
                        let names = numbers.iter().map(|number| kind.field_name(*number).unwrap());
                        Some(names.collect::<Vec<_>>().join(" "))
                    }
                };
                assert_eq!(found.as_deref(), expected, "{json}, {}", scripts.is_some());
            }
        }
    }

    #[test]
    fn what_is_known_of_a_document_grows() {
        let number = FieldValue::Integer;
        let known = Known::part(vec![(2, number(2))], [1, 2].into());
        assert_eq!([0, 1, 2].map(|field| known.has(field)), [false, true, true]);
        // What waits has the newer values.
        let known = known.and(vec![(0, number(7)), (1, number(8))], &[0, 1].into());
        assert_eq!(*known.fields, [(0, number(7)), (2, number(2))]);
        assert_eq!([0, 1, 2, 3].map(|field| known.has(field)), [true, true, true, false]);
        let changed = known.changed(vec![(0, number(7)), (3, number(3))].into(), &[2, 3].into());
        assert!((0..4).all(|field| changed.has(field)) && !changed.has(4));
        let whole = Known::whole(vec![(3, number(1))].into());
        assert!(whole.has(9));
        let more = whole.and(vec![(9, number(9))], &[9].into());
        assert_eq!(*more.fields, [(3, number(1))], "it has no others");
    }
}
