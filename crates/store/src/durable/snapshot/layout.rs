//! How the documents of a type lie in blocks and bodies: what of a type a snapshot depends on.

use crate::body::{Bytes, number, text};
use crate::kind::{DataType, DocumentType};

use super::table::TableError;

/// Types nest no deeper; those of a schema nest as deep as its text may.
const MAX_DEPTH: usize = 64;

/// The fields and columns of a type.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Layout {
    pub(super) name: String,
    /// By their numbers: names, types, and the numbers of the columns that have their values.
    pub(super) fields: Vec<(String, DataType, Option<usize>)>,
    pub(super) structs: Vec<(String, Vec<(String, DataType)>)>,
    pub(super) attributes: Vec<AttributeLayout>,
}

/// A column.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AttributeLayout {
    /// The name of its field.
    pub(super) field: String,
    pub(super) path: Vec<String>,
    pub(super) kind: DataType,
}

impl Layout {
    pub(super) fn of(kind: &DocumentType) -> Layout {
        let field = |(at, name): (usize, &str)| {
            (name.to_owned(), kind.field_kind(at).cloned(), kind.column_of(at))
        };
        let fields = kind.fields().enumerate().map(field);
        let fields = fields.filter_map(|(name, of, column)| Some((name, of?, column))).collect();
        let structs = kind.structs().map(|(name, of)| (name.to_owned(), of.members.clone()));
        let attributes = kind.attributes().iter().map(|a| AttributeLayout {
            field: kind.field_name(a.field).unwrap_or_default().to_owned(),
            path: a.path.clone(),
            kind: a.kind.clone(),
        });
        let name = kind.name().to_owned();
        Layout { name, fields, structs: structs.collect(), attributes: attributes.collect() }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        text(&self.name, out);
        number(self.fields.len() as u64, out);
        for (name, kind, column) in &self.fields {
            text(name, out);
            write_kind(kind, out);
            number(column.map_or(0, |column| column as u64 + 1), out);
        }
        number(self.structs.len() as u64, out);
        for (name, members) in &self.structs {
            text(name, out);
            number(members.len() as u64, out);
            for (name, kind) in members {
                text(name, out);
                write_kind(kind, out);
            }
        }
        number(self.attributes.len() as u64, out);
        for attribute in &self.attributes {
            text(&attribute.field, out);
            number(attribute.path.len() as u64, out);
            attribute.path.iter().for_each(|part| text(part, out));
            write_kind(&attribute.kind, out);
        }
    }

    pub(super) fn read(bytes: &mut Bytes<'_>) -> Result<Layout, TableError> {
        let name = bytes.text()?.to_owned();
        let fields = list(bytes, |bytes| {
            let (name, kind) = member(bytes)?;
            Ok((name, kind, bytes.length()?.checked_sub(1)))
        })?;
        let structs = list(bytes, |bytes| Ok((bytes.text()?.to_owned(), list(bytes, member)?)))?;
        let attributes = list(bytes, |bytes| {
            let field = bytes.text()?.to_owned();
            let path = list(bytes, |bytes| Ok(bytes.text()?.to_owned()))?;
            Ok(AttributeLayout { field, path, kind: read_kind(bytes, 0)? })
        })?;
        Ok(Layout { name, fields, structs, attributes })
    }
}

fn member(bytes: &mut Bytes<'_>) -> Result<(String, DataType), TableError> {
    Ok((bytes.text()?.to_owned(), read_kind(bytes, 0)?))
}

/// A number of things, each of which has a byte at least, and the things.
pub(super) fn list<T>(
    bytes: &mut Bytes<'_>,
    mut read: impl FnMut(&mut Bytes<'_>) -> Result<T, TableError>,
) -> Result<Vec<T>, TableError> {
    let count = bytes.length()?;
    if count > bytes.rest().len() {
        return Err(TableError::Short);
    }
    let mut list = Vec::new();
    for _ in 0..count {
        list.push(read(bytes)?);
    }
    Ok(list)
}

fn write_kind(kind: &DataType, out: &mut Vec<u8>) {
    let tag = match kind {
        DataType::Bool => 1,
        DataType::Byte => 2,
        DataType::Int => 3,
        DataType::Long => 4,
        DataType::Float16 => 5,
        DataType::Float => 6,
        DataType::Double => 7,
        DataType::Text => 8,
        DataType::Raw => 9,
        DataType::Position => 10,
        DataType::Tensor(_) => 11,
        DataType::Array(_) => 12,
        DataType::WeightedSet(_) => 13,
        DataType::Map(..) => 14,
        DataType::Struct(_) => 15,
        DataType::Predicate => 16,
    };
    out.push(tag);
    match kind {
        DataType::Tensor(kind) => text(&kind.to_string(), out),
        DataType::Array(of) | DataType::WeightedSet(of) => write_kind(of, out),
        DataType::Map(key, value) => {
            write_kind(key, out);
            write_kind(value, out);
        }
        DataType::Struct(name) => text(name, out),
        _ => {}
    }
}

fn read_kind(bytes: &mut Bytes<'_>, depth: usize) -> Result<DataType, TableError> {
    if depth == MAX_DEPTH {
        return Err(TableError::Kind);
    }
    let inner = |bytes: &mut Bytes<'_>| read_kind(bytes, depth + 1).map(Box::new);
    Ok(match bytes.byte()? {
        1 => DataType::Bool,
        2 => DataType::Byte,
        3 => DataType::Int,
        4 => DataType::Long,
        5 => DataType::Float16,
        6 => DataType::Float,
        7 => DataType::Double,
        8 => DataType::Text,
        9 => DataType::Raw,
        10 => DataType::Position,
        11 => {
            let kind = stead_expr::parse_type(bytes.text()?).map_err(|_| TableError::Kind)?;
            DataType::Tensor(kind)
        }
        12 => DataType::Array(inner(bytes)?),
        13 => DataType::WeightedSet(inner(bytes)?),
        14 => DataType::Map(inner(bytes)?, inner(bytes)?),
        15 => DataType::Struct(bytes.text()?.to_owned()),
        16 => DataType::Predicate,
        _ => return Err(TableError::Kind),
    })
}
