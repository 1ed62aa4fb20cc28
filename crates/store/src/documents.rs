//! Documents of one type in memory.

use std::collections::HashMap;
use std::io::BufRead;

use crate::columns::Column;
use crate::error::FeedError;
use crate::json::{Objects, Put, read_put};
use crate::kind::{AttributeColumn, DocumentType};
use crate::value::FieldValue;

use stead_expr::Attribute;

/// Documents of one type: their ids, and a column for each attribute. A document is known by its place, from 0 in the order in
/// which they came.
#[derive(Debug)]
pub struct Documents {
    kind: DocumentType,
    ids: Vec<String>,
    /// The place of each id, with the line on which it stands.
    places: HashMap<String, (u32, usize)>,
    /// Of the attributes of the type, in their order; nothing for those whose values ranking cannot use.
    columns: Vec<Option<Column>>,
    names: HashMap<String, usize>,
    /// How many documents have a value, by the number of the field.
    given: Vec<usize>,
}

impl Documents {
    /// No documents of a type.
    #[must_use]
    pub fn new(kind: DocumentType) -> Documents {
        let columns = kind.attributes().iter().map(|a| Column::new(&a.kind)).collect();
        let name = |(at, attribute): (usize, &AttributeColumn)| (attribute.name.clone(), at);
        let names = kind.attributes().iter().enumerate().map(name).collect();
        let given = vec![0; kind.fields().count()];
        Documents { kind, ids: Vec::new(), places: HashMap::new(), columns, names, given }
    }

    /// Documents from JSON: an object for each, one after the other or in an array. `progress` is called now and then with the bytes
    /// that have been read.
    ///
    /// # Errors
    /// At the first document that is none, does not fit its type, or stands twice.
    pub fn read(
        kind: DocumentType,
        reader: impl BufRead,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Documents, FeedError> {
        let mut documents = Documents::new(kind);
        let mut objects = Objects::new(reader);
        while let Some((line, object)) = objects.next()? {
            let put = read_put(&documents.kind, line, object)?;
            documents.push(line, put)?;
            progress(objects.bytes);
        }
        Ok(documents)
    }

    fn push(&mut self, line: usize, put: Put) -> Result<(), FeedError> {
        let Put { id, fields } = put;
        let fail = |text: String| FeedError { line, document: Some(id.clone()), field: None, text };
        if let Some((_, first)) = self.places.get(&id) {
            return Err(fail(format!("the document stands twice, first on line {first}")));
        }
        let full = || fail("more values of an attribute than a column holds".to_owned());
        let place = u32::try_from(self.ids.len()).map_err(|_| full())?;
        for (attribute, column) in self.kind.attributes().iter().zip(&mut self.columns) {
            let Some(column) = column else { continue };
            let value = fields.iter().find(|(n, _)| *n == attribute.field).map(|(_, v)| v);
            let taken = match attribute.path.is_empty() {
                true => column.push(value),
                false => column.push(value.map(|v| part(v, &attribute.path)).as_ref()),
            };
            if !taken {
                return Err(full());
            }
        }
        for (field, _) in &fields {
            self.given.iter_mut().skip(*field).take(1).for_each(|count| *count += 1);
        }
        self.places.insert(id.clone(), (place, line));
        self.ids.push(id);
        Ok(())
    }

    /// Their type.
    #[must_use]
    pub fn kind(&self) -> &DocumentType {
        &self.kind
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The id of a document; empty if there is none at this place.
    #[must_use]
    pub fn id(&self, place: usize) -> &str {
        self.ids.get(place).map_or("", String::as_str)
    }

    /// The place of a document.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<u32> {
        self.places.get(id).map(|(place, _)| *place)
    }

    /// The column of an attribute.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.get(*self.names.get(name)?)?.as_ref()
    }

    /// The column of an attribute for expressions, where it lies.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<Attribute<'_>> {
        self.column(name)?.attribute()
    }

    /// How many documents have a value of the field that an attribute belongs to.
    #[must_use]
    pub fn given(&self, attribute: &str) -> usize {
        let found = self.kind.attributes().iter().find(|a| a.name == attribute);
        found.and_then(|a| self.given.get(a.field).copied()).unwrap_or(0)
    }
}

/// Stands where an element has no such member, so that the attributes of its members stay beside each other.
static NOTHING: FieldValue = FieldValue::Struct(Vec::new());

/// The parts of a value on a way into it, as an array: `name` of an array of structs, `key` or `value` of a map, and further.
fn part(value: &FieldValue, path: &[String]) -> FieldValue {
    let mut list: Vec<&FieldValue> = match value {
        FieldValue::Array(list) => list.iter().collect(),
        other => vec![other],
    };
    for step in path {
        list = list
            .into_iter()
            .flat_map(|value| match value {
                FieldValue::Map(pairs) => pairs
                    .iter()
                    .map(|(key, value)| if step == "key" { key } else { value })
                    .collect::<Vec<_>>(),
                value => vec![value.member(step).unwrap_or(&NOTHING)],
            })
            .collect();
    }
    FieldValue::Array(list.into_iter().cloned().collect())
}
