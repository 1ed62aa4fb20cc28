//! Schemas with documents, structs, field sets, imported fields and summaries.

use super::field::{Field, SummaryField};
use super::profile::{OnnxModel, RankProfile};
use crate::package::{Located, Place};
use crate::schema::{FieldType, Name};
use crate::services::{SnippetSettings, Snippets};

/// A schema: a document type and how it is searched and ranked.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    /// Its name.
    pub name: Name,
    /// The schema that it inherits from.
    pub inherits: Option<Name>,
    /// Whether the file has no schema, only this document.
    pub is_document_only: bool,
    /// Its document.
    pub document: Document,
    /// Fields outside the document, whose values come from others.
    pub fields: Vec<Field>,
    /// Structs outside the document.
    pub structs: Vec<Struct>,
    /// Sets of fields that are searched together.
    pub field_sets: Vec<FieldSet>,
    /// Fields of parent documents.
    pub imports: Vec<ImportedField>,
    /// Constants from files.
    pub constants: Vec<ConstantFile>,
    /// ONNX models.
    pub onnx_models: Vec<OnnxModel>,
    /// Document summaries.
    pub summaries: Vec<DocumentSummary>,
    /// Rank profiles, with what they inherit; `default` and `unranked` are always there.
    pub profiles: Vec<RankProfile>,
    /// `stemming`; `best` if nothing is said.
    pub stemming: Option<String>,
    /// `raw-as-base64-in-summary`
    pub raw_as_base64: bool,
    /// How its dynamic summaries show texts, by the clusters that hold its documents.
    pub snippets: Vec<(String, Snippets)>,
}

/// A document type.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Its name.
    pub name: Name,
    /// The documents that it inherits from.
    pub inherits: Vec<Name>,
    /// Its fields, inherited ones first.
    pub fields: Vec<Field>,
    /// Its structs, inherited ones first.
    pub structs: Vec<Struct>,
}

/// A struct.
#[derive(Debug, Clone, PartialEq)]
pub struct Struct {
    /// Its name.
    pub name: Name,
    /// The structs that it inherits from.
    pub inherits: Vec<Name>,
    /// Its fields, inherited ones first.
    pub members: Vec<Member>,
}

/// A field of a struct.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub kind: Located<FieldType>,
}

/// Fields that are searched together.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldSet {
    /// Its name; `default` is searched where a query names none.
    pub name: Name,
    /// Its fields.
    pub fields: Vec<Name>,
    /// `query-command`
    pub query_commands: Vec<Name>,
    /// How its fields are matched, where it is said.
    pub matching: super::field::MatchSettings,
}

/// A field of a parent document.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedField {
    /// Its name here.
    pub name: Name,
    /// The field here that refers to the parent.
    pub reference: String,
    /// The field there.
    pub field: String,
    /// Where both are written.
    pub place: Place,
    /// Its type, when it is known.
    pub kind: Option<FieldType>,
}

/// A constant in a file of the package.
#[derive(Debug, Clone, PartialEq)]
pub struct ConstantFile {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub kind: Located<FieldType>,
    /// The path of the file.
    pub file: Name,
}

/// A document summary.
#[derive(Debug, Clone, PartialEq)]
pub struct DocumentSummary {
    /// Its name.
    pub name: Name,
    /// The summaries that it inherits from.
    pub inherits: Vec<Name>,
    /// Its fields, inherited ones first.
    pub fields: Vec<SummaryField>,
    /// Whether it may read from disk without a warning.
    pub from_disk: bool,
    /// Whether summary features are left out.
    pub omit_summary_features: bool,
}

impl Schema {
    /// The field of this name, of the document or outside it.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.all_fields().find(|f| f.name.value == name)
    }

    /// All fields, those of the document first.
    pub fn all_fields(&self) -> impl Iterator<Item = &Field> {
        self.document.fields.iter().chain(&self.fields)
    }

    /// The struct of this name, of the document or outside it.
    #[must_use]
    pub fn find_struct(&self, name: &str) -> Option<&Struct> {
        self.document.structs.iter().chain(&self.structs).find(|s| s.name.value == name)
    }

    /// How a field of a summary shows texts in a cluster, if it is dynamic.
    #[must_use]
    pub fn snippet(&self, cluster: &str, field: &str) -> SnippetSettings {
        let of_cluster = self.snippets.iter().find(|(id, _)| id == cluster);
        of_cluster.map(|(_, snippets)| snippets.of(field)).unwrap_or_default()
    }

    /// The rank profile of this name.
    #[must_use]
    pub fn profile(&self, name: &str) -> Option<&RankProfile> {
        self.profiles.iter().find(|p| p.name.value == name)
    }

    /// Whether a name is that of the index of a part of addresses: `field.host`.
    #[must_use]
    pub fn is_address_part(&self, name: &str) -> bool {
        let Some((field, part)) = name.rsplit_once('.') else { return false };
        let field = self.field(field).filter(|f| f.is_index());
        field.is_some_and(|f| *f.kind.element() == FieldType::Uri) && ADDRESS_PARTS.contains(&part)
    }

    /// The type of an attribute by its name: a field, an imported field, or a field of a struct behind a dot.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<AttributeType<'_>> {
        if let Some(field) = self.all_fields().find(|f| f.outputs("attribute").contains(&name)) {
            return Some(AttributeType::Of(&field.kind));
        }
        if let Some(import) = self.imports.iter().find(|i| i.name.value == name) {
            return Some(import.kind.as_ref().map_or(AttributeType::Elements, AttributeType::Of));
        }
        // The curve that a position becomes is an attribute of its own.
        let position = name.strip_suffix("_zcurve").and_then(|name| self.field(name));
        if position.is_some_and(|f| *f.kind.element() == FieldType::Position) {
            return Some(AttributeType::Elements);
        }
        let (outer, inner) = name.split_once('.')?;
        let mut field = self.field(outer)?;
        for part in inner.split('.') {
            field = field.struct_fields.iter().find(|f| f.name.value == part)?;
        }
        field.is_attribute().then_some(AttributeType::Elements)
    }
}

/// What has an index of its own of each address in an index of addresses (Vespa, `UriHack.java`).
const ADDRESS_PARTS: [&str; 7] =
    ["scheme", "host", "port", "path", "query", "fragment", "hostname"];

/// The type of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttributeType<'s> {
    /// That of its field.
    Of(&'s FieldType),
    /// Several numbers or texts.
    Elements,
}
