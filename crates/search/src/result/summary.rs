//! Which fields hits have
//! (Vespa, documentation, `reference/schemas/schemas.html#document-summary`).

use stead_app::application::Schema;

use crate::query::SearchError;

/// The fields of hits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Fields of documents.
    pub columns: Vec<SummaryColumn>,
    /// Whether the name of the document's type is one.
    pub has_type: bool,
    /// Whether the id of the document is one.
    pub has_id: bool,
    /// Whether hits are known by the ids of their documents: those of summaries that have them.
    pub shows_id: bool,
    /// Whether summary features are left out.
    pub omits_features: bool,
}

/// A field of hits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryColumn {
    /// Its name.
    pub name: String,
    /// The field of the document that it is.
    pub source: String,
}

impl Summary {
    /// The summary of a name; `default` has all fields that are in summaries.
    ///
    /// # Errors
    /// When there is no such summary.
    pub fn new(schema: &Schema, name: Option<&str>) -> Result<Summary, SearchError> {
        let name = name.unwrap_or("default");
        let column = |name: &str, source: &str| SummaryColumn {
            name: name.to_owned(),
            source: source.to_owned(),
        };
        let found = schema.summaries.iter().find(|s| s.name.value == name);
        let mut columns: Vec<SummaryColumn> = Vec::new();
        let mut add = |one: SummaryColumn| {
            if !columns.iter().any(|known| known.name == one.name) {
                columns.push(one);
            }
        };
        if let Some(summary) = found {
            for field in &summary.fields {
                let source = field.sources.first().map_or(&field.name.value, |s| &s.value);
                add(column(&field.name.value, source));
            }
        }
        let is_default = name == "default";
        if is_default {
            for field in schema.all_fields() {
                for output in field.outputs("summary") {
                    add(column(output, &field.name.value));
                }
                for summary in &field.summaries {
                    let source = summary.sources.first().map_or(&field.name.value, |s| &s.value);
                    add(column(&summary.name.value, source));
                }
            }
        } else if found.is_none() {
            let known: Vec<&str> = schema.summaries.iter().map(|s| s.name.value.as_str()).collect();
            let known =
                if known.is_empty() { String::new() } else { format!(", {}", known.join(", ")) };
            return Err(SearchError::illegal(format!(
                "schema {} has no document-summary {name:.60}; it has default{known}",
                schema.name.value
            )));
        }
        let names_id = columns.iter().any(|c| c.name == "documentid");
        columns.retain(|c| !["documentid", "sddocname"].contains(&c.name.as_str()));
        let has_id = is_default || names_id;
        let omits_features = found.is_some_and(|s| s.omit_summary_features);
        Ok(Summary { columns, has_type: true, has_id, shows_id: has_id, omits_features })
    }

    /// Keeps the fields of these names; none for all.
    pub fn keep(&mut self, names: &[String]) {
        if names.is_empty() {
            return;
        }
        let has = |name: &str| names.iter().any(|n| n == name);
        self.columns.retain(|c| has(&c.name));
        self.has_type &= has("sddocname");
        self.has_id &= has("documentid");
    }
}

#[cfg(test)]
mod tests {
    use stead_app::application::Application;
    use stead_app::package::PackageFiles;
    use stead_app::services::ServicesOptions;

    use super::Summary;

    #[test]
    fn summaries_have_their_fields() {
        let schema = "schema d {
          document d {
            field a type int { indexing: summary | attribute }
            field b type int { indexing: attribute }
            field c type string { indexing: summary }
          }
          document-summary short { summary x { source: a } }
          document-summary named inherits short { summary documentid {} }
        }";
        let files = PackageFiles::from_texts([("schemas/d.sd", schema)]).unwrap();
        let (application, _) = Application::read(&files, ServicesOptions::default());
        let schema = application.schema("d").unwrap();
        let shown = |name: Option<&str>, keep: &[&str]| {
            let mut summary = Summary::new(schema, name).map_err(|error| error.message)?;
            summary.keep(&keep.iter().map(|k| (*k).to_owned()).collect::<Vec<_>>());
            let columns = summary.columns.iter().map(|c| format!("{}<{}", c.name, c.source));
            let columns = columns.collect::<Vec<_>>().join(" ");
            Ok::<_, String>(format!(
                "{columns} {} {} {}",
                summary.has_type, summary.has_id, summary.shows_id
            ))
        };
        for (name, keep, expected) in [
            (None, &[][..], Ok("a<a c<c true true true")),
            (Some("short"), &[], Ok("x<a true false false")),
            (Some("named"), &[], Ok("x<a true true true")),
            (None, &["a", "b", "documentid"], Ok("a<a false true true")),
            (
                Some("long"),
                &[],
                Err("schema d has no document-summary long; it has default, short, named"),
            ),
        ] {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(shown(name, keep), expected, "{name:?} {keep:?}");
        }
    }
}
