//! Types of documents.

mod attribute;
mod data_type;
mod language;
mod text;

use std::collections::BTreeMap;
use std::sync::Arc;

use stead_app::application::Schema;
use stead_app::schema::FieldType;

pub use attribute::{AttributeColumn, Import, Indexed};
pub use data_type::DataType;
pub use text::TextIndex;

use crate::columns::Column;
use attribute::attributes_of;
use language::Languages;

/// A struct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StructType {
    /// Its members by name.
    pub members: Vec<(String, DataType)>,
}

/// What updates of the weights of a field do beside what they say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Weights {
    /// `create-if-nonexistent`: elements that are not there are made with the weight 0.
    pub(crate) creates: bool,
    /// `remove-if-zero`: elements whose weight becomes 0 go.
    pub(crate) removes: bool,
}

/// A type of documents. Clones share.
#[derive(Debug, Clone)]
pub struct DocumentType {
    inner: Arc<Inner>,
}

#[derive(Debug, Clone)]
struct Inner {
    name: String,
    fields: Vec<(String, DataType)>,
    /// The fields before this one are those of the document.
    inside: usize,
    /// By field.
    weights: Vec<Weights>,
    structs: BTreeMap<String, StructType>,
    attributes: Vec<AttributeColumn>,
    texts: Vec<TextIndex>,
    languages: Languages,
    /// By field: the number of the attribute whose column has its value, as it was put.
    columns: Vec<Option<usize>>,
    /// Whether imported attributes are looked up where they are; else documents have values of their own.
    imports: bool,
    /// Where documents are [streamed](DocumentType::streamed), the same with attributes and indexes.
    searched: Option<DocumentType>,
    /// Whether it is what others are searched as.
    of_stream: bool,
}

impl DocumentType {
    /// The documents of a schema. Fields outside the document, and those of parent documents that it imports, are fields
    /// too: who ranks without the scripts that fill them gives their values. Vectors have no graphs: such documents are looked at once.
    #[must_use]
    pub fn new(schema: &Schema) -> DocumentType {
        let mut inner = Inner::clone(&DocumentType::with_imports(schema, false).inner);
        inner.attributes.iter_mut().for_each(|attribute| attribute.graph = None);
        DocumentType { inner: Arc::new(inner) }
    }

    /// The documents of a schema that are stored beside their parents: what they import is looked up there.
    #[must_use]
    pub fn stored(schema: &Schema) -> DocumentType {
        DocumentType::with_imports(schema, true)
    }

    /// The documents of a schema in `mode="streaming"`: stored without columns and indexes, which those that are
    /// [searched](crate::View::stream) get for the time of the search. The words of texts are not stemmed (Vespa, documentation,
    /// `performance/streaming-search.html`).
    #[must_use]
    pub fn streamed(schema: &Schema) -> DocumentType {
        let mut searched = Inner::clone(&DocumentType::stored(schema).inner);
        for index in &mut searched.texts {
            index.analysis.is_stemmed = false;
        }
        for attribute in &mut searched.attributes {
            attribute.graph = None;
            // To make it costs more than the one search of them all.
            attribute.index.take_if(|index| matches!(index, Indexed::Predicates { .. }));
        }
        searched.of_stream = true;
        let searched = DocumentType { inner: Arc::new(searched) };
        let stored = Inner {
            attributes: Vec::new(),
            texts: Vec::new(),
            columns: vec![None; searched.inner.fields.len()],
            searched: Some(searched.clone()),
            of_stream: false,
            ..Inner::clone(&searched.inner)
        };
        DocumentType { inner: Arc::new(stored) }
    }

    /// Whether its documents are [streamed](DocumentType::streamed).
    #[must_use]
    pub fn is_streamed(&self) -> bool {
        self.inner.searched.is_some()
    }

    /// Whether its documents are those that a search reads of a [streamed](DocumentType::streamed) type.
    #[must_use]
    pub fn is_of_stream(&self) -> bool {
        self.inner.of_stream
    }

    /// The type that its documents are searched as.
    #[must_use]
    pub fn searched(&self) -> &DocumentType {
        self.inner.searched.as_ref().unwrap_or(self)
    }

    fn with_imports(schema: &Schema, imports: bool) -> DocumentType {
        let mut fields: Vec<(String, DataType)> = Vec::new();
        let (mut attributes, mut texts) = (Vec::new(), Vec::new());
        for field in schema.all_fields() {
            let kind = DataType::new(&field.kind);
            attributes_of(field, &kind, fields.len(), schema, &mut attributes);
            texts.extend(TextIndex::of(field, &kind, fields.len(), schema));
            fields.push((field.name.value.clone(), kind));
        }
        for import in &schema.imports {
            let (name, Some(kind)) = (import.name.value.clone(), &import.kind) else { continue };
            let (field, kind) = (fields.len(), DataType::new(kind));
            fields.push((name.clone(), kind.clone()));
            let reference = import.reference.clone();
            let parent = schema.field(&reference).and_then(|f| match &*f.kind {
                FieldType::Reference(parent) => Some(parent.clone()),
                _ => None,
            });
            let import = parent.map(|parent| {
                let field = import.field.clone();
                Import { reference, parent, field }
            });
            // The values of parents lie where the parents say.
            attributes.push(AttributeColumn { import, ..AttributeColumn::new(name, field, kind) });
        }
        let structs = schema.document.structs.iter().chain(&schema.structs);
        let structs = structs.map(|s| {
            let member =
                |m: &stead_app::application::Member| (m.name.value.clone(), DataType::new(&m.kind));
            (s.name.value.clone(), StructType { members: s.members.iter().map(member).collect() })
        });
        let (name, structs) = (schema.document.name.value.clone(), structs.collect());
        let inside = schema.document.fields.len();
        let weights = schema.all_fields().map(|field| {
            let (creates, removes) = field.weighted_set;
            Weights { creates, removes }
        });
        let weights = weights.collect();
        let column = |(field, (_, kind)): (usize, &(String, DataType))| {
            let is_it = |a: &AttributeColumn| {
                a.field == field && a.path.is_empty() && a.kind == *kind && kind.lies_in_columns()
            };
            attributes.iter().position(is_it)
        };
        let columns = fields.iter().enumerate().map(column).collect();
        let languages = Languages::of(schema, texts.iter().map(|of: &TextIndex| of.field));
        let inner = Inner {
            name,
            fields,
            inside,
            weights,
            structs,
            attributes,
            texts,
            languages,
            columns,
            imports,
            searched: None,
            of_stream: false,
        };
        DocumentType { inner: Arc::new(inner) }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The number and type of a field.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<(usize, &DataType)> {
        let at = self.inner.fields.iter().position(|(n, _)| n == name)?;
        Some((at, &self.inner.fields[at].1))
    }

    /// The type of a field by its number.
    #[must_use]
    pub fn field_kind(&self, number: usize) -> Option<&DataType> {
        self.inner.fields.get(number).map(|(_, kind)| kind)
    }

    /// The name of a field by its number.
    #[must_use]
    pub fn field_name(&self, number: usize) -> Option<&str> {
        self.inner.fields.get(number).map(|(name, _)| name.as_str())
    }

    /// Whether a field is one of the document, which it is fed with: others are filled by scripts or imported.
    #[must_use]
    pub fn is_inside(&self, number: usize) -> bool {
        number < self.inner.inside
    }

    /// What updates of the weights of a field do beside what they say.
    pub(crate) fn weights(&self, number: usize) -> Weights {
        self.inner.weights.get(number).copied().unwrap_or_default()
    }

    /// The attribute whose column has the values of a field as they were put.
    pub(crate) fn column_of(&self, field: usize) -> Option<usize> {
        self.inner.columns.get(field).copied().flatten()
    }

    /// The names of the fields.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.inner.fields.iter().map(|(name, _)| name.as_str())
    }

    /// The structs, by their names.
    pub(crate) fn structs(&self) -> impl Iterator<Item = (&str, &StructType)> {
        self.inner.structs.iter().map(|(name, of)| (name.as_str(), of))
    }

    /// A struct.
    #[must_use]
    pub fn find_struct(&self, name: &str) -> Option<&StructType> {
        self.inner.structs.get(name)
    }

    /// The attributes.
    #[must_use]
    pub fn attributes(&self) -> &[AttributeColumn] {
        &self.inner.attributes
    }

    /// The indexes of texts.
    #[must_use]
    pub fn texts(&self) -> &[TextIndex] {
        &self.inner.texts
    }

    /// Whether the values of any attribute may lie on disk.
    pub(crate) fn has_paged(&self) -> bool {
        self.inner.attributes.iter().any(|attribute| attribute.is_paged)
    }

    /// An empty column for an attribute; nothing if its values have none here.
    pub(crate) fn new_column(&self, attribute: &AttributeColumn) -> Option<Column> {
        match self.inner.imports && attribute.import.is_some() {
            true => None,
            false => Column::new(&attribute.kind),
        }
    }

    /// The place of an attribute among [all](DocumentType::attributes): what blocks know its column by.
    #[must_use]
    pub fn attribute_number(&self, name: &str) -> Option<usize> {
        self.inner.attributes.iter().position(|attribute| attribute.name == name)
    }
}
