//! What it takes to go from one application to the next: which changes lose data, and which are made while it runs
//! (Vespa, `config-model/src/main/java/com/yahoo/vespa/model/application/validation/change`).

use std::collections::BTreeMap;

use super::field::Field;
use super::package::Application;
use super::schema::Schema;
use crate::services::{ContentCluster, IndexMode};

/// The differences of two applications that matter to the documents that are stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// What loses data and is not allowed, by the validation that would have to be overridden.
    pub refused: BTreeMap<&'static str, Vec<String>>,
    /// Fields whose documents must be fed again, as it was allowed.
    pub refeed: Vec<Refeed>,
    /// What is made while the application runs.
    pub live: Vec<String>,
}

/// Documents of a type must be fed again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refeed {
    /// The validation that was overridden.
    pub validation: &'static str,
    /// The document type.
    pub document: String,
    /// The content cluster that has it.
    pub cluster: String,
    /// What changed.
    pub message: String,
}

impl Changes {
    /// From `before` to `after`, on a day such as `2026-01-31`: overrides of `after` hold up to the day that they name.
    #[must_use]
    pub fn between(before: &Application, after: &Application, today: &str) -> Changes {
        let mut collector = Collector { after, today, changes: Changes::default() };
        for cluster in &before.services.contents {
            collector.cluster(before, cluster);
        }
        collector.changes
    }

    /// Why the change is refused, and how it would be allowed; nothing if it is not.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        let text = |(id, messages): (&&str, &Vec<String>)| {
            format!(
                "{id}:\n\t{}\nTo allow this add <allow until='yyyy-mm-dd'>{id}</allow> to validation-overrides.xml, \
                 see https://docs.vespa.ai/en/reference/applications/validation-overrides.html",
                messages.join("\n\t")
            )
        };
        let all: Vec<String> = self.refused.iter().map(text).collect();
        (!all.is_empty()).then(|| all.join("\n"))
    }
}

struct Collector<'c> {
    after: &'c Application,
    today: &'c str,
    changes: Changes,
}

impl Collector<'_> {
    /// Takes note of a change that loses data; whether it is allowed.
    fn loses(&mut self, validation: &'static str, message: String) -> bool {
        // The validation of schemas that are removed was called after types of content before.
        let names = |id: &str| {
            id == validation || (validation, id) == ("schema-removal", "content-type-removal")
        };
        let mut overrides = self.after.overrides.iter();
        let is_allowed = overrides.any(|o| names(&o.id) && self.today <= o.until.as_str());
        if !is_allowed {
            self.changes.refused.entry(validation).or_default().push(message);
        }
        is_allowed
    }

    fn cluster(&mut self, before: &Application, cluster: &ContentCluster) {
        let id = &cluster.id;
        let Some(next) = self.after.services.contents.iter().find(|c| c.id == *id) else {
            let message = format!(
                "Content cluster '{id}' is removed. This will cause loss of all data in this cluster"
            );
            self.loses("content-cluster-removal", message);
            return;
        };
        for document in &cluster.documents {
            let kind = &document.kind.value;
            let Some(found) = next.documents.iter().find(|d| d.kind.value == *kind) else {
                let message = format!(
                    "Schema '{kind}' is removed in content cluster '{id}'. This will cause loss of all data in this schema"
                );
                self.loses("schema-removal", message);
                continue;
            };
            if document.mode != found.mode {
                let message = format!(
                    "Document type '{kind}' in cluster '{id}' changed indexing mode from '{}' to '{}'",
                    mode(document.mode),
                    mode(found.mode)
                );
                self.loses("indexing-mode-change", message);
            }
            if document.is_global != found.is_global {
                let message = format!(
                    "Document type {kind} in cluster {id} changed global from {} to {}",
                    document.is_global, found.is_global
                );
                self.loses("global-document-change", message);
            }
            if let (Some(old), Some(new)) = (before.schema(kind), self.after.schema(kind)) {
                self.schema(id, old, new);
            }
        }
    }

    /// Attributes that are read from disk no longer may need more memory than there is.
    fn unpaged(&mut self, document: &str, old: &Field, new: &Field) {
        let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
        paged(old, "", &mut before);
        paged(new, "", &mut after);
        for (name, _) in before.iter().filter(|(_, is_paged)| **is_paged) {
            if after.get(name) == Some(&false) {
                let message = format!(
                    "Document type '{document}': attribute '{name}' has setting 'paged' removed. This may cause \
                     content nodes to run out of memory as the entire attribute is loaded into memory"
                );
                self.loses("paged-setting-removal", message);
            }
        }
    }

    fn schema(&mut self, cluster: &str, old: &Schema, new: &Schema) {
        let document = &old.document.name.value;
        for field in old.all_fields() {
            let name = &field.name.value;
            let Some(next) = new.all_fields().find(|f| f.name.value == *name) else {
                let message = format!("Document type '{document}': Field '{name}' removed");
                self.changes.live.push(message);
                continue;
            };
            let (from, to) = (type_name(field, old), type_name(next, new));
            if from != to {
                let message = format!(
                    "Document type '{document}': Field '{name}' changed: data type: '{from}' -> '{to}'"
                );
                let validation = "field-type-change";
                if self.loses(validation, message.clone()) {
                    let (document, cluster) = (document.clone(), cluster.to_owned());
                    self.changes.refeed.push(Refeed { validation, document, cluster, message });
                }
                continue;
            }
            self.unpaged(document, field, next);
            let aspects = aspects(field, next);
            if !aspects.is_empty() {
                let aspects = aspects.join(", ");
                let message =
                    format!("Document type '{document}': Field '{name}' changed: {aspects}");
                self.changes.live.push(message);
            }
        }
        let is_new = |field: &&Field| old.all_fields().all(|f| f.name.value != field.name.value);
        for field in new.all_fields().filter(is_new) {
            let name = &field.name.value;
            self.changes.live.push(format!("Document type '{document}': Field '{name}' added"));
        }
    }
}

/// The attributes of a field and its parts, and whether they lie on disk.
fn paged(field: &Field, around: &str, found: &mut BTreeMap<String, bool>) {
    let name = format!("{around}{}", field.name.value);
    // Struct fields stand in the schema, which nests them as deep as it may be nested itself.
    field.struct_fields.iter().for_each(|part| paged(part, &format!("{name}."), found));
    if field.is_attribute() {
        found.insert(name, field.attribute.paged);
    }
}

fn mode(mode: IndexMode) -> &'static str {
    match mode {
        IndexMode::Index => "indexed",
        IndexMode::Streaming => "streaming",
        IndexMode::StoreOnly => "store-only",
    }
}

/// The type of a field with the members of its struct: a struct of the same name may have others.
fn type_name(field: &Field, schema: &Schema) -> String {
    let name = field.kind.value.to_string();
    let element = field.kind.value.element().to_string();
    match schema.find_struct(&element) {
        Some(found) => {
            let member = |m: &super::schema::Member| format!("{}:{}", m.name.value, m.kind.value);
            let members: Vec<String> = found.members.iter().map(member).collect();
            format!("{name}:{{{}}}", members.join(","))
        }
        None => name,
    }
}

/// What of a field is built anew from the documents.
fn aspects(old: &Field, new: &Field) -> Vec<String> {
    let mut list = Vec::new();
    for (is, was, name) in [
        (new.is_attribute(), old.is_attribute(), "attribute"),
        (new.is_index(), old.is_index(), "index"),
    ] {
        if is != was {
            list.push(format!("{} {name} aspect", if is { "add" } else { "remove" }));
        }
    }
    let is_same_script = match (&old.indexing, &new.indexing) {
        (Some(a), Some(b)) => a.is_like(b),
        (a, b) => a.is_none() && b.is_none(),
    };
    if !is_same_script {
        list.push("indexing script".to_owned());
    }
    if old.matching != new.matching {
        list.push("matching".to_owned());
    }
    if old.index != new.index {
        list.push("index settings".to_owned());
    }
    if old.attribute != new.attribute {
        list.push("attribute settings".to_owned());
    }
    if (&old.stemming, &old.normalizing) != (&new.stemming, &new.normalizing) {
        list.push("stemming or normalizing".to_owned());
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::package::PackageFiles;
    use crate::services::ServicesOptions;

    const FIELDS: &str =
        "field year type int { indexing: attribute } field title type string { indexing: index }";

    fn application(content: &str, fields: &str, overrides: &str) -> Application {
        let services = format!("<services version='1.0'>{content}</services>");
        let schema = format!("schema music {{ document music {{ {fields} }} }}");
        let overrides = format!("<validation-overrides>{overrides}</validation-overrides>");
        let files = PackageFiles::from_texts([
            ("services.xml", services.as_str()),
            ("schemas/music.sd", &schema),
            ("schemas/other.sd", "schema other { document other { } }"),
            ("validation-overrides.xml", &overrides),
        ]);
        let (application, report) = Application::read(&files.unwrap(), ServicesOptions::default());
        assert!(!report.has_errors(), "{:?}", report.diagnostics());
        application
    }

    fn content(documents: &str) -> String {
        format!("<content id='c' version='1.0'><documents>{documents}</documents></content>")
    }

    #[test]
    fn what_loses_data_needs_an_override() {
        let music =
            content("<document type='music' mode='index'/><document type='other' mode='index'/>");
        let before = application(&music, FIELDS, "");
        let lost = "field year type string { indexing: attribute } field title type string { indexing: index }";
        for (label, services, fields, id, message) in [
            (
                "type",
                music.clone(),
                lost,
                "field-type-change",
                "Document type 'music': Field 'year' changed: data type: 'int' -> 'string'",
            ),
            (
                "schema",
                content("<document type='music' mode='index'/>"),
                FIELDS,
                "schema-removal",
                "Schema 'other' is removed in content cluster 'c'. This will cause loss of all data in this schema",
            ),
            (
                "cluster",
                music.replace("id='c'", "id='d'"),
                FIELDS,
                "content-cluster-removal",
                "Content cluster 'c' is removed. This will cause loss of all data in this cluster",
            ),
            (
                "mode",
                music.replace("type='music' mode='index'", "type='music' mode='store-only'"),
                FIELDS,
                "indexing-mode-change",
                "Document type 'music' in cluster 'c' changed indexing mode from 'indexed' to 'store-only'",
            ),
            (
                "global",
                music.replace("type='music'", "type='music' global='true'"),
                FIELDS,
                "global-document-change",
                "Document type music in cluster c changed global from false to true",
            ),
        ] {
            let allow = |until: &str| format!("<allow until='{until}'>{id}</allow>");
            for (until, is_allowed) in [("2026-01-30", false), ("2026-01-31", true)] {
                let after = application(&services, fields, &allow(until));
                let changes = Changes::between(&before, &after, "2026-01-31");
                let refused = changes.refused.get(id).cloned().unwrap_or_default();
                assert_eq!(
                    refused,
                    if is_allowed { vec![] } else { vec![message.to_owned()] },
                    "{label}"
                );
                assert_eq!(changes.refusal().is_none(), is_allowed, "{label}");
                let refeed = usize::from(is_allowed && label == "type");
                assert_eq!(changes.refeed.len(), refeed, "{label}");
            }
        }
        let after = application(&music, lost, "");
        let refusal = Changes::between(&before, &after, "2026-01-31").refusal().unwrap();
        let [what, how] = refusal.split_once('\n').map(|(a, b)| [a, b]).unwrap();
        assert_eq!(what, "field-type-change:");
        assert!(
            how.contains("\nTo allow this add <allow until='yyyy-mm-dd'>field-type-change</allow>"),
            "{how}"
        );
    }

    #[test]
    fn attributes_on_disk_are_not_brought_to_memory_by_accident() {
        let music = content("<document type='music' mode='index'/>");
        let map = |paged: &str| {
            format!(
                "{FIELDS} field stock type map<string,int> {{ struct-field value {{ indexing: attribute\n {paged} }} }}"
            )
        };
        let year = |paged: &str| format!("field year type int {{ indexing: attribute\n {paged} }}");
        let message = |name: &str| {
            format!(
                "Document type 'music': attribute '{name}' has setting 'paged' removed. This may cause content nodes \
                 to run out of memory as the entire attribute is loaded into memory"
            )
        };
        let paged = "attribute: paged";
        for (label, before, after, name) in [
            ("a field", year(paged), year(""), Some("year")),
            (
                "other settings",
                year("attribute: paged"),
                year("attribute: fast-search"),
                Some("year"),
            ),
            ("a part of one", map(paged), map(""), Some("stock.value")),
            ("it is added", year(""), year(paged), None),
            ("it stays", year(paged), year("attribute { paged fast-search }"), None),
            (
                "no attribute",
                year(paged),
                "field year type int { indexing: summary }".to_owned(),
                None,
            ),
            ("the field goes", map(paged), FIELDS.to_owned(), None),
        ] {
            let before = application(&music, &before, "");
            let id = "paged-setting-removal";
            let allow = format!("<allow until='2026-01-31'>{id}</allow>");
            for (overrides, refused) in [("", name.map(message)), (&allow, None)] {
                let after = application(&music, &after, overrides);
                let changes = Changes::between(&before, &after, "2026-01-31");
                let found = changes.refused.get(id).cloned().unwrap_or_default();
                assert_eq!(found, Vec::from_iter(refused), "{label}");
                assert_eq!(changes.refeed, [], "{label}");
            }
        }
    }

    #[test]
    fn other_changes_are_made_while_it_runs() {
        let music = content("<document type='music' mode='index'/>");
        let before = application(&music, FIELDS, "");
        for (fields, expected) in [
            (FIELDS.to_owned(), vec![]),
            // The same script at another place.
            (FIELDS.replace(" field title", "\n\n  field title"), vec![]),
            (format!("{FIELDS} field a type int {{ }}"), vec!["Field 'a' added"]),
            (
                "field year type int { indexing: attribute }".to_owned(),
                vec!["Field 'title' removed"],
            ),
            (
                FIELDS.replace("indexing: index", "indexing: attribute | index"),
                vec!["Field 'title' changed: add attribute aspect, indexing script"],
            ),
            (
                FIELDS.replace(
                    "indexing: attribute }",
                    "indexing: attribute\n attribute: fast-search }",
                ),
                vec!["Field 'year' changed: attribute settings"],
            ),
        ] {
            let after = application(&music, &fields, "");
            let changes = Changes::between(&before, &after, "2026-01-31");
            let expected: Vec<String> =
                expected.iter().map(|text| format!("Document type 'music': {text}")).collect();
            assert_eq!((changes.refusal(), changes.live), (None, expected), "{fields}");
        }
    }
}
