//! Documents of a file.

use std::collections::HashMap;
use std::io::BufRead;

use crate::error::{FeedError, StoreError};
use crate::json::{Objects, Put, read_put};
use crate::kind::DocumentType;
use crate::live::{Collection, View};

/// Documents of one type that were read from a file. Their numbers are their places, from 0 in the order in which they came.
#[derive(Debug)]
pub struct Documents {
    view: View,
    /// How many documents have a value, by the number of the field.
    given: Vec<usize>,
}

impl Documents {
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
        let mut given = vec![0; kind.fields().count()];
        let mut collection = Collection::new(kind);
        let mut lines: HashMap<u32, usize> = HashMap::new();
        let mut objects = Objects::new(reader);
        while let Some((line, object)) = objects.next()? {
            let Put { id, fields } = read_put(collection.kind(), line, object)?;
            let fail = |text| FeedError { line, document: Some(id.clone()), field: None, text };
            if let Some(first) = collection.find(&id).and_then(|known| lines.get(&known)) {
                return Err(fail(format!("the document stands twice, first on line {first}")));
            }
            let put = collection.put(&id, &fields);
            let place = put.map_err(|error| match error {
                StoreError::Full { what, .. } => fail(format!("there is no room for more {what}")),
                other => fail(other.to_string()),
            })?;
            lines.insert(place, line);
            for (field, _) in &fields {
                given.iter_mut().skip(*field).take(1).for_each(|count| *count += 1);
            }
            progress(objects.bytes);
        }
        collection.publish();
        Ok(Documents { view: collection.view(), given })
    }

    /// The documents.
    #[must_use]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// How many documents have a value of the field that an attribute belongs to.
    #[must_use]
    pub fn given(&self, attribute: &str) -> usize {
        let found = self.view.kind().attributes().iter().find(|a| a.name == attribute);
        found.and_then(|a| self.given.get(a.field).copied()).unwrap_or(0)
    }
}
