//! Documents of a file.

use std::io::BufRead;

use crate::error::{FeedError, StoreError};
use crate::indexing::{ScriptContext, Scripts};
use crate::json::{Objects, Put, read_put};
use crate::kind::DocumentType;
use crate::live::{Collection, View};

/// Documents of one type that were read from a file. Their numbers are their places, from 0 in the order in which they came first.
#[derive(Debug)]
pub struct Documents {
    view: View,
    /// How many objects have a value, by the number of the field.
    given: Vec<usize>,
    replaced: Vec<usize>,
}

impl Documents {
    /// Documents from JSON: an object for each, one after the other or in an array; the last of those with the same id counts.
    /// `progress` is called now and then with the bytes that have been read.
    ///
    /// # Errors
    /// At the first document that is none or does not fit its type.
    pub fn read(
        kind: DocumentType,
        reader: impl BufRead,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Documents, FeedError> {
        Documents::gather(kind, reader, None, progress)
    }

    /// As [`Documents::read`], with the values that scripts make of those that are read.
    ///
    /// # Errors
    /// At the first document that is none, does not fit its type or has a value that a script cannot take.
    pub fn read_with(
        kind: DocumentType,
        reader: impl BufRead,
        scripts: (&Scripts, &ScriptContext<'_>),
        progress: &mut dyn FnMut(u64),
    ) -> Result<Documents, FeedError> {
        Documents::gather(kind, reader, Some(scripts), progress)
    }

    fn gather(
        kind: DocumentType,
        reader: impl BufRead,
        scripts: Option<(&Scripts, &ScriptContext<'_>)>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Documents, FeedError> {
        let mut given = vec![0; kind.fields().count()];
        let mut replaced = Vec::new();
        let mut collection = Collection::new(kind);
        let mut objects = Objects::new(reader);
        while let Some((line, object)) = objects.next()? {
            let Put { id, mut fields } = read_put(collection.kind(), line, object)?;
            let fail = |field, text| FeedError { line, document: Some(id.clone()), field, text };
            if let Some((scripts, cx)) = scripts {
                let filled = scripts.run(&id, fields, cx);
                fields = filled.map_err(|e| fail(Some(e.field), e.text))?;
            }
            if collection.find(&id).is_some() {
                replaced.push(line);
            }
            let put = collection.put(&id, &fields);
            put.map_err(|error| match error {
                StoreError::Full { what, .. } => {
                    fail(None, format!("there is no room for more {what}"))
                }
                other => fail(None, other.to_string()),
            })?;
            for (field, _) in &fields {
                given.iter_mut().skip(*field).take(1).for_each(|count| *count += 1);
            }
            progress(objects.bytes);
        }
        collection.settle();
        collection.publish();
        Ok(Documents { view: collection.view(), given, replaced })
    }

    /// The lines on which documents stand that took the place of one before them.
    #[must_use]
    pub fn replaced(&self) -> &[usize] {
        &self.replaced
    }

    /// The documents.
    #[must_use]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// How many objects have a value of the field that an attribute belongs to.
    #[must_use]
    pub fn given(&self, attribute: &str) -> usize {
        let found = self.view.kind().attributes().iter().find(|a| a.name == attribute);
        found.and_then(|a| self.given.get(a.field).copied()).unwrap_or(0)
    }
}
