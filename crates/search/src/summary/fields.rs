//! Which fields hits have.

use stead_app::application::{Field, Schema, SummaryField};

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
    /// What is shown of its value.
    pub shown: Shown,
}

/// What is shown of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// All.
    Whole,
    /// All, with marks at words that were found (`bolding: on`).
    Marked,
    /// The parts of texts where words were found (`dynamic`).
    Snippet,
    /// The terms that an index has of texts (`tokens`).
    Tokens,
    /// The elements that were found (`matched-elements-only`).
    Matched,
    /// The elements that are labels of a summary feature (`select-elements-by`).
    Selected(String),
}

impl Summary {
    /// The summary of a name; `default` has all fields that are in summaries.
    ///
    /// # Errors
    /// When there is no such summary.
    pub fn new(schema: &Schema, name: Option<&str>) -> Result<Summary, SearchError> {
        let name = name.unwrap_or("default");
        let found = schema.summaries.iter().find(|s| s.name.value == name);
        let is_default = name == "default";
        let usual = default_columns(schema);
        let mut columns: Vec<SummaryColumn> = Vec::new();
        for field in found.iter().flat_map(|summary| &summary.fields) {
            add(said(field, &usual), &mut columns);
        }
        if is_default {
            usual.into_iter().for_each(|column| add(column, &mut columns));
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

/// The fields of the summary `default`: those that fields say, and those of other summaries that are no plain attributes or tokens (Vespa,
/// `ImplicitSummaries.java`, `MakeDefaultSummaryTheSuperSet.java`).
fn default_columns(schema: &Schema) -> Vec<SummaryColumn> {
    let (mut implicit, mut explicit) = (Vec::new(), Vec::new());
    for field in schema.all_fields() {
        for output in field.outputs("summary") {
            let shown = if field.is_bold { Shown::Marked } else { Shown::Whole };
            let (name, source) = (output.to_owned(), field.name.value.clone());
            add(SummaryColumn { name, source, shown }, &mut implicit);
        }
        for summary in &field.summaries {
            let source = summary.sources.first().unwrap_or(&field.name).value.clone();
            let is_own = summary.name == field.name && field.is_bold;
            let shown = if is_own { Shown::Marked } else { Shown::Whole };
            let shown = shown_by(summary).unwrap_or(shown);
            add(SummaryColumn { name: summary.name.value.clone(), source, shown }, &mut explicit);
        }
    }
    // What is shown under a name of its own is not shown as it is beside that, unless a field says so.
    let is_source_only = |column: &SummaryColumn| {
        let mut others = explicit.iter().filter(|other| other.name != column.name);
        others.any(|other| other.source == column.name)
    };
    let mut columns: Vec<SummaryColumn> = Vec::new();
    for column in implicit {
        match explicit.iter().find(|other| other.name == column.name) {
            Some(other) => columns.push(other.clone()),
            None if is_source_only(&column) => {}
            None => columns.push(column),
        }
    }
    explicit.into_iter().for_each(|column| add(column, &mut columns));
    for field in schema.summaries.iter().flat_map(|summary| &summary.fields) {
        let column = said(field, &columns);
        let is_attribute = || {
            let source = schema.all_fields().find(|f| f.name.value == column.source);
            source.is_none_or(is_attribute)
        };
        let is_left_out = match column.shown {
            Shown::Tokens => true,
            Shown::Whole => is_attribute(),
            _ => false,
        };
        if !is_left_out {
            add(column, &mut columns);
        }
    }
    columns
}

/// A field of a summary: what it does not say of itself it has from the one of `default` of its name.
fn said(field: &SummaryField, usual: &[SummaryColumn]) -> SummaryColumn {
    let name = field.name.value.clone();
    let source = field.sources.first().map_or_else(|| name.clone(), |s| s.value.clone());
    let known = usual.iter().find(|column| column.name == name);
    let known = known.map_or(Shown::Whole, |column| column.shown.clone());
    SummaryColumn { name, source, shown: shown_by(field).unwrap_or(known) }
}

fn shown_by(field: &SummaryField) -> Option<Shown> {
    match (field.transform, &field.select_elements_by) {
        (Some("dynamic"), _) => Some(Shown::Snippet),
        (Some("tokens"), _) => Some(Shown::Tokens),
        (Some("matched-elements-only"), _) => Some(Shown::Matched),
        (_, Some(feature)) => Some(Shown::Selected(feature.value.trim().to_owned())),
        _ => field.is_bold.then_some(Shown::Marked),
    }
}

fn is_attribute(field: &Field) -> bool {
    !field.outputs("attribute").is_empty()
        || field.struct_fields.iter().any(|part| !part.outputs("attribute").is_empty())
}

/// Adds a field unless there is one of its name.
fn add(column: SummaryColumn, columns: &mut Vec<SummaryColumn>) {
    if !columns.iter().any(|known| known.name == column.name) {
        columns.push(column);
    }
}

#[cfg(test)]
mod tests {
    use stead_app::application::Application;
    use stead_app::package::PackageFiles;
    use stead_app::services::ServicesOptions;

    use super::{Shown, Summary, SummaryColumn};

    #[test]
    fn summaries_have_their_fields() {
        let schema = "schema d {
          document d {
            field a type int { indexing: summary | attribute }
            field b type int { indexing: attribute }
            field c type string { indexing: summary }
          }
          document-summary short { summary x { source: a } }
          document-summary more { summary y { source: c } summary c {} summary z { source: c
            tokens } }
          document-summary named inherits short { summary documentid {} }
        }";
        let files = PackageFiles::from_texts([("schemas/d.sd", schema)]).unwrap();
        let (application, _) = Application::read(&files, ServicesOptions::default());
        let schema = application.schema("d").unwrap();
        let shown = |name: Option<&str>, keep: &[&str]| {
            let mut summary = Summary::new(schema, name).map_err(|error| error.message)?;
            summary.keep(&keep.iter().map(|k| (*k).to_owned()).collect::<Vec<_>>());
            let column = |c: &SummaryColumn| match &c.shown {
                Shown::Whole => format!("{}<{}", c.name, c.source),
                shown => format!("{}<{} {shown:?}", c.name, c.source),
            };
            let columns = summary.columns.iter().map(column);
            let columns = columns.collect::<Vec<_>>().join(" ");
            Ok::<_, String>(format!(
                "{columns} {} {} {}",
                summary.has_type, summary.has_id, summary.shows_id
            ))
        };
        for (name, keep, expected) in [
            (None, &[][..], Ok("a<a c<c y<c true true true")),
            (Some("more"), &[], Ok("y<c c<c z<c Tokens true false false")),
            (Some("short"), &[], Ok("x<a true false false")),
            (Some("named"), &[], Ok("x<a true true true")),
            (None, &["a", "b", "documentid"], Ok("a<a false true true")),
            (
                Some("long"),
                &[],
                Err("schema d has no document-summary long; it has default, short, more, named"),
            ),
        ] {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(shown(name, keep), expected, "{name:?} {keep:?}");
        }
    }
}
