//! Attributes of types of documents: what has a column, and of what it is filled.

use std::borrow::Cow;

use stead_ann::Metric;
use stead_app::application::{Field, Schema};
use stead_app::schema::FieldType;
use stead_expr::CellType;

use super::DataType;
use crate::columns::Postings;
use crate::value::FieldValue;

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
    /// What `fast-search` of its field says, or that it has predicates.
    pub index: Option<Indexed>,
    /// Whether its values lie on disk once a snapshot has them.
    pub is_paged: bool,
    /// The graph by which its nearest vectors are found, if it has one.
    pub graph: Option<stead_ann::Options>,
    /// Where its values are, if it is imported.
    pub import: Option<Import>,
}

/// How the rows of an attribute are found by their values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Indexed {
    /// By the values themselves.
    Values {
        /// Whether capitals make a difference between texts.
        is_cased: bool,
    },
    /// Predicates, by what a query must have.
    Predicates {
        /// The least and the greatest number that queries have.
        bounds: (i64, i64),
    },
}

impl Indexed {
    /// That of a field whose attribute has values of a type.
    fn of(field: &Field, kind: &DataType) -> Option<Indexed> {
        if *kind == DataType::Predicate {
            let least = field.index.lower_bound.unwrap_or(i64::MIN);
            let bounds = (least, field.index.upper_bound.unwrap_or(i64::MAX));
            return Some(Indexed::Predicates { bounds });
        }
        let is_it = field.attribute.fast_search && Postings::has(kind);
        is_it.then_some(Indexed::Values { is_cased: field.matching.cased })
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
    /// An attribute with the values of a field as they are: in memory, without an index.
    pub(super) fn new(name: String, field: usize, kind: DataType) -> AttributeColumn {
        let (path, metric, index, import) = (Vec::new(), None, None, None);
        let graph = None;
        AttributeColumn { name, field, path, kind, metric, index, is_paged: false, graph, import }
    }

    /// Its value in a document, from the value of the field.
    pub(crate) fn of<'v>(&self, value: &'v FieldValue) -> Cow<'v, FieldValue> {
        match self.path.is_empty() {
            true => Cow::Borrowed(value),
            false => Cow::Owned(value.part(&self.path)),
        }
    }
}

/// The attributes of a field: itself under each name that its script writes to, and the parts that are named as struct fields.
pub(super) fn attributes_of(
    field: &Field,
    kind: &DataType,
    at: usize,
    schema: &Schema,
    attributes: &mut Vec<AttributeColumn>,
) {
    for name in field.outputs("attribute") {
        let mut add = |name: String| {
            attributes.push(AttributeColumn {
                metric: field.attribute.distance_metric.clone(),
                index: Indexed::of(field, kind),
                is_paged: field.attribute.paged,
                graph: graph_of(field, kind),
                ..AttributeColumn::new(name, at, kind.clone())
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

/// The graph of the vectors of a field with `index` in its script.
fn graph_of(field: &Field, kind: &DataType) -> Option<stead_ann::Options> {
    let DataType::Tensor(kind) = kind else { return None };
    let is_wanted = !field.outputs("index").is_empty();
    let has_vectors = kind.indexed().count() == 1
        && matches!(
            kind.cell(),
            CellType::Double | CellType::Float | CellType::BFloat16 | CellType::Int8
        );
    let metric = Metric::of_name(field.attribute.distance_metric.as_deref())?;
    let hnsw = field.index.hnsw.unwrap_or_default();
    (is_wanted && has_vectors).then(|| stead_ann::Options {
        max_links: hnsw.max_links_per_node as usize,
        explore: hnsw.neighbors_to_explore_at_insert as usize,
        has_many: kind.mapped_count() > 0,
        is_far: field.attribute.paged,
        ..stead_ann::Options::new(metric)
    })
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
            attributes.push(AttributeColumn {
                path: path.clone(),
                index: Indexed::of(part, &kind),
                is_paged: part.attribute.paged,
                ..AttributeColumn::new(name.clone(), at, kind)
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
