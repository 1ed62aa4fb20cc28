//! The selections of an application: which documents its content clusters keep (Vespa, `DocumentSelectionBuilder`).

use std::collections::BTreeMap;

use stead_app::application::Application;
use stead_app::package::{Located, Report};

use super::Selection;
use crate::kind::DocumentType;

impl Selection {
    /// The selection of each document type that is not kept whatever is in it: that of its cluster and that of the type in it.
    /// What is wrong with them is told to the report.
    #[must_use]
    pub fn of_application(
        application: &Application,
        report: &mut Report,
    ) -> BTreeMap<String, Selection> {
        let mut found = BTreeMap::new();
        for cluster in &application.services.contents {
            let of_all = cluster.selection.as_ref().and_then(|text| read(text, None, report));
            for document in &cluster.documents {
                // A type without a schema is told elsewhere.
                let schema = application.schema(&document.kind.value);
                let Some(kind) = schema.map(DocumentType::stored) else { continue };
                let of_type = document.selection.as_ref();
                let of_type = of_type.and_then(|text| read(text, Some(&kind), report));
                let both = match (&of_all, of_type) {
                    (Some(all), Some(one)) => Some(all.and(&one)),
                    (all, one) => one.or_else(|| all.clone()),
                };
                found.extend(both.map(|both| (kind.name().to_owned(), both)));
            }
        }
        found
    }
}

/// A selection of documents of a type, or of all types of a cluster.
fn read(
    text: &Located<String>,
    kind: Option<&DocumentType>,
    report: &mut Report,
) -> Option<Selection> {
    let selection = match Selection::parse(&text.value) {
        Ok(selection) => selection,
        Err(error) => {
            report.error(&text.place, error.to_string());
            return None;
        }
    };
    for (name, field) in selection.references() {
        let wrong = match kind {
            None => format!(
                "the selection of all documents of a cluster cannot name a document type, but names {name}; \
                 write it at document type=\"{name}\""
            ),
            Some(kind) if kind.name() != name => format!(
                "the selection of documents of type {} cannot name another type, but names {name}",
                kind.name()
            ),
            Some(kind) => match field.filter(|field| !is_inside(kind, field)) {
                None => continue,
                Some(field) => format!(
                    "document type {name} has no field {field} that a selection can look at"
                ),
            },
        };
        report.error(&text.place, wrong);
    }
    Some(selection)
}

/// Whether a type has a field in its documents: neither imported nor filled from others beside them.
fn is_inside(kind: &DocumentType, field: &str) -> bool {
    kind.field(field).is_some_and(|(number, _)| kind.is_inside(number))
}

#[cfg(test)]
mod tests {
    use stead_app::application::Application;
    use stead_app::package::{PackageFiles, Report};
    use stead_app::services::ServicesOptions;

    use super::Selection;

    fn package(of_all: &str, of_type: &str) -> (Application, Report) {
        let services = format!(
            "<content version='1.0' id='c'>\n<documents {of_all}>\n<document type='d' mode='index' {of_type}/>\
             <document type='e' mode='index'/></documents></content>"
        );
        let d = "schema d { document d { field n type int { indexing: attribute }
                 field e type reference<e> { indexing: attribute } }
                 import field e.m as m {} }";
        let e = "schema e { document e { field m type int { indexing: attribute } } }";
        let files = [("services.xml", services.as_str()), ("schemas/d.sd", d), ("schemas/e.sd", e)];
        let files = PackageFiles::from_texts(files).unwrap();
        Application::read(&files, ServicesOptions::default())
    }

    #[test]
    fn selections_of_clusters_and_types_are_joined() {
        for (of_all, of_type, expected) in [
            ("", "", &[][..]),
            ("", "selection='d.n > 5'", &[("d", "d.n > 5")]),
            ("selection='id.user == 7'", "", &[("d", "id.user == 7"), ("e", "id.user == 7")]),
            (
                "selection='true'",
                "selection='d.n > now() - 5'",
                &[("d", "(true) and (d.n > now() - 5)"), ("e", "true")],
            ),
        ] {
            let (application, _) = package(of_all, of_type);
            let mut report = Report::default();
            let found = Selection::of_application(&application, &mut report);
            let found: Vec<_> = found.iter().map(|(kind, s)| (kind.as_str(), s.text())).collect();
            assert_eq!(found, expected, "{of_all} {of_type}");
            assert!(report.diagnostics().is_empty(), "{report:?}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_selection_is_told_where_it_stands() {
        for (of_all, of_type, expected) in [
            (
                "selection='d.n > 5'",
                "",
                "services.xml:2:1: the selection of all documents of a cluster cannot name a document type, but \
                 names d; write it at document type=\"d\"",
            ),
            (
                "",
                "selection='d.n > 5 and e'",
                "services.xml:3:1: the selection of documents of type d cannot name another type, but names e",
            ),
            (
                "",
                "selection='d.x > 5'",
                "services.xml:3:1: document type d has no field x that a selection can look at",
            ),
            (
                "",
                "selection='d.m > 5'",
                "services.xml:3:1: document type d has no field m that a selection can look at",
            ),
            (
                "",
                "selection='d.n >'",
                "services.xml:3:1: selection, character 5: expected a value, found the end",
            ),
        ] {
            let (application, _) = package(of_all, of_type);
            let mut report = Report::default();
            let _ = Selection::of_application(&application, &mut report);
            let found: Vec<String> = report.errors().map(ToString::to_string).collect();
            assert_eq!(found, [expected], "{of_all} {of_type}");
        }
    }
}
