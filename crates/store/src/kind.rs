//! Types of documents.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use stead_app::application::{Field, Schema};
use stead_app::schema::FieldType;
use stead_expr::TensorType;

use crate::columns::{Column, Postings};
use crate::value::FieldValue;

/// The type of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)] // The names are those of the schema language.
pub enum DataType {
    Bool,
    Byte,
    Int,
    Long,
    Float16,
    Float,
    Double,
    /// A string, uri, predicate or reference.
    Text,
    Raw,
    Position,
    Tensor(TensorType),
    Array(Box<DataType>),
    WeightedSet(Box<DataType>),
    Map(Box<DataType>, Box<DataType>),
    /// A struct by its name, since structs may hold themselves.
    Struct(String),
}

impl DataType {
    fn new(kind: &FieldType) -> DataType {
        let inner = |kind: &FieldType| Box::new(DataType::new(kind));
        match kind {
            FieldType::Bool => DataType::Bool,
            FieldType::Byte => DataType::Byte,
            FieldType::Int => DataType::Int,
            FieldType::Long => DataType::Long,
            FieldType::Float16 => DataType::Float16,
            FieldType::Float => DataType::Float,
            FieldType::Double => DataType::Double,
            FieldType::String | FieldType::Uri | FieldType::Predicate | FieldType::Reference(_) => {
                DataType::Text
            }
            FieldType::Raw => DataType::Raw,
            FieldType::Position => DataType::Position,
            FieldType::Tensor(kind) => DataType::Tensor(kind.clone()),
            FieldType::Array(of) => DataType::Array(inner(of)),
            FieldType::WeightedSet(of) => DataType::WeightedSet(inner(of)),
            FieldType::Map(key, value) => DataType::Map(inner(key), inner(value)),
            FieldType::Named(name) => DataType::Struct(name.clone()),
        }
    }
}

impl DataType {
    /// Whether a column has values of this type as they were put: where a document has one, which its body tells.
    fn lies_in_columns(&self) -> bool {
        match self {
            DataType::Position | DataType::Map(..) | DataType::Struct(_) => false,
            DataType::Array(of) | DataType::WeightedSet(of) => {
                !matches!(
                    **of,
                    DataType::Array(_)
                        | DataType::WeightedSet(_)
                        | DataType::Raw
                        | DataType::Tensor(_)
                ) && of.lies_in_columns()
            }
            _ => true,
        }
    }

    /// The least and the greatest whole number that it has.
    pub(crate) fn integers(&self) -> (i64, i64) {
        match self {
            DataType::Byte => (i64::from(i8::MIN), i64::from(i8::MAX)),
            DataType::Int => (i64::from(i32::MIN), i64::from(i32::MAX)),
            _ => (i64::MIN, i64::MAX),
        }
    }

    /// The nearest number that it has.
    pub(crate) fn rounded(&self, number: f64) -> f64 {
        match self {
            DataType::Float | DataType::Float16 => f64::from(number as f32),
            _ => number,
        }
    }

    /// Whether a value is of this type. Values nest no deeper than what reads them lets them.
    pub(crate) fn holds(&self, kind: &DocumentType, value: &FieldValue) -> bool {
        let is_within = |n: i64| {
            let (least, most) = self.integers();
            (least..=most).contains(&n)
        };
        match (self, value) {
            (DataType::Bool, FieldValue::Bool(_))
            | (DataType::Float16 | DataType::Float | DataType::Double, FieldValue::Number(_))
            | (DataType::Text, FieldValue::Text(_))
            | (DataType::Raw, FieldValue::Bytes(_))
            | (DataType::Position, FieldValue::Position(_)) => true,
            (DataType::Byte | DataType::Int | DataType::Long, FieldValue::Integer(n)) => {
                is_within(*n)
            }
            (DataType::Tensor(of), FieldValue::Tensor(tensor)) => of == tensor.kind(),
            (DataType::Array(of), FieldValue::Array(list)) => {
                list.iter().all(|v| of.holds(kind, v))
            }
            (DataType::WeightedSet(of), FieldValue::Weighted(pairs)) => {
                pairs.iter().all(|(key, _)| of.holds(kind, key))
            }
            (DataType::Map(of, to), FieldValue::Map(pairs)) => {
                pairs.iter().all(|(key, value)| of.holds(kind, key) && to.holds(kind, value))
            }
            (DataType::Struct(name), FieldValue::Struct(members)) => {
                let Some(found) = kind.find_struct(name) else { return false };
                members.iter().all(|(member, value)| {
                    let of = found.members.iter().find(|(n, _)| n == member);
                    of.is_some_and(|(_, of)| of.holds(kind, value))
                })
            }
            _ => false,
        }
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DataType::Bool => f.write_str("bool"),
            DataType::Byte => f.write_str("byte"),
            DataType::Int => f.write_str("int"),
            DataType::Long => f.write_str("long"),
            DataType::Float16 => f.write_str("float16"),
            DataType::Float => f.write_str("float"),
            DataType::Double => f.write_str("double"),
            DataType::Text => f.write_str("string"),
            DataType::Raw => f.write_str("raw"),
            DataType::Position => f.write_str("position"),
            DataType::Tensor(kind) => write!(f, "{kind}"),
            DataType::Array(of) => write!(f, "array<{of}>"),
            DataType::WeightedSet(of) => write!(f, "weightedset<{of}>"),
            DataType::Map(key, value) => write!(f, "map<{key},{value}>"),
            DataType::Struct(name) => f.write_str(name),
        }
    }
}

/// What updates of the weights of a field do beside what they say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Weights {
    /// `create-if-nonexistent`: elements that are not there are made with the weight 0.
    pub(crate) creates: bool,
    /// `remove-if-zero`: elements whose weight becomes 0 go.
    pub(crate) removes: bool,
}

/// A struct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StructType {
    /// Its members by name.
    pub members: Vec<(String, DataType)>,
}

/// A column that a type of documents has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttributeColumn {
    /// The name of the attribute: that of a field, or of a part of one behind a dot.
    pub name: String,
    /// The number of the field that it is filled from.
    pub field: usize,
    /// The way from the value of the field to that of the attribute.
    pub path: Vec<String>,
    /// The type of what the column holds: for a path into an array or map an array.
    pub kind: DataType,
    /// `distance-metric` of its field.
    pub metric: Option<String>,
    /// What `fast-search` of its field says.
    pub index: Option<Indexed>,
    /// Whether its values lie on disk once a snapshot has them.
    pub is_paged: bool,
    /// Where its values are, if it is imported.
    pub import: Option<Import>,
}

/// How the rows of an attribute are found by their values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Indexed {
    /// Whether capitals make a difference between texts.
    pub is_cased: bool,
}

impl Indexed {
    /// That of a field whose attribute has values of a type.
    fn of(field: &Field, kind: &DataType) -> Option<Indexed> {
        let is_it = field.attribute.fast_search && Postings::has(kind);
        is_it.then_some(Indexed { is_cased: field.matching.cased })
    }
}

/// Where the values of an imported attribute are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// The attribute that names the parent by its id.
    pub reference: String,
    /// The type of the parent.
    pub parent: String,
    /// The attribute of the parent.
    pub field: String,
}

impl AttributeColumn {
    /// Its value in a document, from the value of the field.
    pub(crate) fn of<'v>(&self, value: &'v FieldValue) -> Cow<'v, FieldValue> {
        match self.path.is_empty() {
            true => Cow::Borrowed(value),
            false => Cow::Owned(value.part(&self.path)),
        }
    }
}

/// A type of documents. Clones share.
#[derive(Debug, Clone)]
pub struct DocumentType {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    name: String,
    fields: Vec<(String, DataType)>,
    /// The fields before this one are those of the document.
    inside: usize,
    /// By field.
    weights: Vec<Weights>,
    structs: BTreeMap<String, StructType>,
    attributes: Vec<AttributeColumn>,
    /// By field: the number of the attribute whose column has its value, as it was put.
    columns: Vec<Option<usize>>,
    /// Whether imported attributes are looked up where they are; else documents have values of their own.
    imports: bool,
}

impl DocumentType {
    /// The documents of a schema. Fields outside the document, and those of parent documents that it imports, are fields
    /// too: who ranks without the scripts that fill them gives their values.
    #[must_use]
    pub fn new(schema: &Schema) -> DocumentType {
        DocumentType::with_imports(schema, false)
    }

    /// The documents of a schema that are stored beside their parents: what they import is looked up there.
    #[must_use]
    pub fn stored(schema: &Schema) -> DocumentType {
        DocumentType::with_imports(schema, true)
    }

    fn with_imports(schema: &Schema, imports: bool) -> DocumentType {
        let mut fields: Vec<(String, DataType)> = Vec::new();
        let mut attributes = Vec::new();
        for field in schema.all_fields() {
            let kind = DataType::new(&field.kind);
            attributes_of(field, &kind, fields.len(), schema, &mut attributes);
            fields.push((field.name.value.clone(), kind));
        }
        for import in &schema.imports {
            let (name, Some(kind)) = (import.name.value.clone(), &import.kind) else { continue };
            let (field, path, kind) = (fields.len(), Vec::new(), DataType::new(kind));
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
            // Those of parents lie where the parents say.
            let (metric, index, is_paged) = (None, None, false);
            attributes.push(AttributeColumn {
                name,
                field,
                path,
                kind,
                metric,
                index,
                is_paged,
                import,
            });
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
        let inner = Inner { name, fields, inside, weights, structs, attributes, columns, imports };
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

    /// The type of a field by its number.
    #[must_use]
    pub fn field_type(&self, number: usize) -> Option<&DataType> {
        self.inner.fields.get(number).map(|(_, kind)| kind)
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

/// The attributes of a field: itself under each name that its script writes to, and the parts that are named as struct fields.
fn attributes_of(
    field: &Field,
    kind: &DataType,
    at: usize,
    schema: &Schema,
    attributes: &mut Vec<AttributeColumn>,
) {
    for name in field.outputs("attribute") {
        let mut add = |name: String| {
            let (path, kind, import) = (Vec::new(), kind.clone(), None);
            let (metric, index) =
                (field.attribute.distance_metric.clone(), Indexed::of(field, &kind));
            let (field, is_paged) = (at, field.attribute.paged);
            attributes.push(AttributeColumn {
                name,
                field,
                path,
                kind,
                metric,
                index,
                is_paged,
                import,
            });
        };
        add(name.to_owned());
        if *field.kind.element() == FieldType::Position {
            add(format!("{name}_zcurve"));
        }
    }
    let mut path = Vec::new();
    parts(field, kind, at, schema, &field.name.value, &mut path, attributes);
}

fn parts(
    field: &Field,
    kind: &DataType,
    at: usize,
    schema: &Schema,
    name: &str,
    path: &mut Vec<String>,
    attributes: &mut Vec<AttributeColumn>,
) {
    // Struct fields stand in the schema, which nests them as deep as it may be nested itself.
    for part in &field.struct_fields {
        let member = part.name.value.clone();
        let Some(inner) = member_type(kind, &member, schema) else { continue };
        let name = format!("{name}.{member}");
        path.push(member);
        if part.is_attribute() {
            let kind = DataType::Array(Box::new(inner.clone()));
            let (name, path) = (name.clone(), path.clone());
            let (metric, index, import) = (None, Indexed::of(part, &kind), None);
            let (field, is_paged) = (at, part.attribute.paged);
            attributes.push(AttributeColumn {
                name,
                field,
                path,
                kind,
                metric,
                index,
                is_paged,
                import,
            });
        }
        parts(part, &inner, at, schema, &name, path, attributes);
        path.pop();
    }
}

/// The type of a part: of the elements of an array of structs, of the keys or values of a map.
fn member_type(kind: &DataType, member: &str, schema: &Schema) -> Option<DataType> {
    match kind {
        DataType::Map(key, value) => match member {
            "key" => Some((**key).clone()),
            "value" => Some((**value).clone()),
            _ => None,
        },
        DataType::Array(of) => member_type(of, member, schema),
        DataType::Struct(name) => {
            let found = schema.find_struct(name)?;
            let member = found.members.iter().find(|m| m.name.value == member)?;
            Some(DataType::new(&member.kind))
        }
        _ => None,
    }
}
