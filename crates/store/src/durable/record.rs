//! Operations as records of the log.
//!
//! Numbers, texts and values are those of [bodies](crate::body).
//!
//! | what | |
//! |---|---|
//! | version | a byte, 1 |
//! | kind | a byte: 1 put, 2 update, 3 remove |
//! | operation id | 16 bytes, little-endian; 0 is none |
//! | type | text |
//! | document id | text |
//! | fields | of puts and updates, to the end: the name, a text; the number of bytes of the value; the value. No bytes take the value away |
//!
//! Fields have their names, so that a schema may change between writing and reading.

use std::sync::Arc;

use crate::body::{self, BodyError, Bytes};
use crate::kind::DocumentType;
use crate::value::FieldValue;

/// The version that this stead writes, and the only one that there has been.
const VERSION: u8 = 1;

const PUT: u8 = 1;
const UPDATE: u8 = 2;
const REMOVE: u8 = 3;

/// An operation that is resolved: what it does does not depend on what is there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Record {
    /// What the client calls the operation; 0 is nothing.
    pub(crate) operation: u128,
    /// The id of the document.
    pub(crate) id: String,
    pub(crate) write: Write,
}

/// The fields of a document: their numbers and values.
pub(crate) type Fields = Vec<(usize, FieldValue)>;

/// What is done with a document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Write {
    /// These are its fields.
    Put(Arc<Fields>),
    /// These fields have these values, or none; the others stay.
    Update(Vec<(usize, Option<FieldValue>)>),
    Remove,
}

/// Why a record cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// Another version of the format.
    #[error("version {0} of operations is not known")]
    Version(u8),
    /// An unknown kind of operation.
    #[error("unknown kind of operation {0}")]
    Kind(u8),
    /// A part of it.
    #[error(transparent)]
    Body(#[from] BodyError),
}

/// The bytes of an operation.
pub(crate) fn encode(kind: &DocumentType, record: &Record) -> Vec<u8> {
    let tag = match &record.write {
        Write::Put(_) => PUT,
        Write::Update(_) => UPDATE,
        Write::Remove => REMOVE,
    };
    let mut bytes = vec![VERSION, tag];
    bytes.extend_from_slice(&record.operation.to_le_bytes());
    body::text(kind.name(), &mut bytes);
    body::text(&record.id, &mut bytes);
    let mut one = Vec::new();
    let mut field = |number: usize, value: Option<&FieldValue>| {
        let Some(name) = kind.field_name(number) else { return };
        body::text(name, &mut bytes);
        one.clear();
        if let Some(value) = value {
            body::put_value(value, &mut one);
        }
        body::number(one.len() as u64, &mut bytes);
        bytes.extend_from_slice(&one);
    };
    match &record.write {
        Write::Put(fields) => fields.iter().for_each(|(number, value)| field(*number, Some(value))),
        Write::Update(fields) => {
            fields.iter().for_each(|(number, value)| field(*number, value.as_ref()));
        }
        Write::Remove => {}
    }
    bytes
}

/// The name of the type that a record is of, and what follows: the record is read when the type is known.
pub(crate) fn begin(bytes: &[u8]) -> Result<(&str, Rest<'_>), RecordError> {
    let mut bytes = Bytes::new(bytes);
    match bytes.byte()? {
        VERSION => {}
        other => return Err(RecordError::Version(other)),
    }
    let kind = bytes.byte()?;
    let operation = u128::from_le_bytes(bytes.array()?);
    let name = bytes.text()?;
    Ok((name, Rest { kind, operation, bytes }))
}

/// A record whose type was read.
pub(crate) struct Rest<'b> {
    kind: u8,
    operation: u128,
    bytes: Bytes<'b>,
}

impl Rest<'_> {
    /// The record. Fields that the type no longer has are left out.
    pub(crate) fn read(mut self, of: &DocumentType) -> Result<Record, RecordError> {
        let id = self.bytes.text()?.to_owned();
        let mut fields = Vec::new();
        while !self.bytes.is_empty() {
            let name = self.bytes.text()?;
            let size = self.bytes.length()?;
            let value = self.bytes.take(size)?;
            let value = if value.is_empty() { None } else { Some(body::value(value)?) };
            let Some((number, kind)) = of.field(name) else { continue };
            // A value of another type is none that the field could have.
            let value = value.filter(|value| kind.holds(of, value));
            fields.push((number, value));
        }
        let whole = |(number, value): (usize, Option<FieldValue>)| Some((number, value?));
        let write = match self.kind {
            PUT => Write::Put(Arc::new(fields.into_iter().filter_map(whole).collect())),
            UPDATE => Write::Update(fields),
            REMOVE => Write::Remove,
            other => return Err(RecordError::Kind(other)),
        };
        Ok(Record { operation: self.operation, id, write })
    }
}
