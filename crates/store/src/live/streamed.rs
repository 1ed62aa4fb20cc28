//! Documents that are searched without indexes that last: those of one user or group are read when somebody searches them.

use std::collections::BTreeSet;

use super::collection::Collection;
use super::locations::Location;
use super::view::View;
use crate::error::StoreError;
use crate::selection::{Selected, Selection};

/// Which documents of a streamed type are searched.
#[derive(Debug, Clone, Copy)]
pub enum Streamed<'s> {
    /// Those of a user or group.
    Of(Location<'s>),
    /// Those that a selection selects, at this time in seconds since 1970. Where it names users and groups, those of others are
    /// not looked at.
    By(&'s Selection, i64),
}

/// Documents that are read before somebody looks whether there is time and room for more.
const TOGETHER: usize = 64;

impl View {
    /// No documents, of the type that [`View::stream`] reads some as: what a search asks is found with it before any is read.
    #[must_use]
    pub fn unread(&self) -> View {
        Collection::new(self.kind().searched().clone()).view()
    }

    /// Some documents of a [streamed](crate::DocumentType::streamed) type, in the order of their numbers here, with the attributes and indexes
    /// that are made of fields which are wanted, by their numbers; other fields they are without. Nothing if it is over meanwhile: `is_over` is
    /// told the bytes that those which were read take, without their indexes of text.
    ///
    /// # Errors
    /// When what is on disk of them cannot be read.
    pub fn stream(
        &self,
        which: Streamed<'_>,
        is_wanted: &dyn Fn(usize) -> bool,
        is_over: &dyn Fn(usize) -> bool,
    ) -> Result<Option<View>, StoreError> {
        let kind = self.kind();
        let mut found = Collection::new(kind.searched().clone());
        let looked_at = match which {
            Streamed::Of(_) => BTreeSet::new(),
            Streamed::By(selection, _) => selection.fields_of(kind),
        };
        // The language of a text is another field.
        let is_kept = |field: usize| is_wanted(field) || kind.language_fields().contains(&field);
        let mut reader = self.fields_reader();
        for (at, lid) in self.streamed_lids(which).enumerate() {
            if at.is_multiple_of(TOGETHER) && is_over(found.memory()) {
                return Ok(None);
            }
            let Some(id) = self.id(lid) else { continue };
            let is_rejected = match which {
                Streamed::Of(location) => Location::of(id) != Some(location),
                Streamed::By(selection, now) => selection.rejects_id(kind, id, now),
            };
            if is_rejected {
                continue;
            }
            let is_read = |field: usize| is_kept(field) || looked_at.contains(&field);
            let Some(mut fields) = reader.read(lid, is_read)? else { continue };
            if let Streamed::By(selection, now) = which
                && !selection.selects(&Selected { kind, id, fields: &fields, now })
            {
                continue;
            }
            fields.retain(|(field, _)| is_kept(*field));
            found.put(id, &fields)?;
        }
        if is_over(found.memory()) {
            return Ok(None);
        }
        found.publish();
        Ok(Some(found.view()))
    }

    /// The numbers of the documents that may be meant, in ascending order.
    fn streamed_lids(&self, which: Streamed<'_>) -> Box<dyn Iterator<Item = u32> + '_> {
        let places = match which {
            Streamed::Of(location) => Some(BTreeSet::from([location])),
            Streamed::By(selection, _) => selection.locations(),
        };
        let Some((places, locations)) = places.zip(self.state.locations.as_ref()) else {
            return Box::new(self.lids());
        };
        let mut lids: Vec<u32> =
            places.into_iter().flat_map(|place| locations.lids(place)).collect();
        lids.sort_unstable();
        lids.dedup();
        Box::new(lids.into_iter())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use stead_app::application::Application;
    use stead_app::package::PackageFiles;
    use stead_app::services::ServicesOptions;

    use super::Streamed;
    use crate::live::{Collection, Location};
    use crate::{DocumentType, FieldValue, Selection};

    #[test]
    fn some_documents_get_the_columns_and_indexes_that_all_are_without() {
        let schema = "schema d { document d { field n type int { indexing: attribute }
            field t type string { indexing: index } } }";
        let files = PackageFiles::from_texts([("schemas/d.sd", schema)]).unwrap();
        let (application, _) = Application::read(&files, ServicesOptions::default());
        let kind = DocumentType::streamed(application.schema("d").unwrap());
        let mut all = Collection::new(kind);
        for lid in 0..200 {
            let fields =
                [(0, FieldValue::Integer(lid)), (1, FieldValue::Text(format!("word {lid}")))];
            all.put(&format!("id:ns:d:g={}:{lid}", lid % 10), &fields).unwrap();
        }
        all.publish();
        let view = all.view();
        assert!(view.attribute("n").is_none() && view.text(0).is_none());
        let selection = Selection::parse("d.n < 7 and id.group != \"3\"").unwrap();
        let two =
            Selection::parse("(id.group == \"3\" or id.group == \"5\") and d.n < 24").unwrap();
        let nobody = Selection::parse("id.group == \"3\" and id.user == 3").unwrap();
        // Whether it is over is asked for each 64 documents that are looked at, and at the end.
        for (which, expected, asks) in [
            (Streamed::Of(Location::Group("3")), (3..200).step_by(10).collect::<Vec<i64>>(), 2),
            (Streamed::Of(Location::User(3)), vec![], 1),
            (Streamed::By(&selection, 0), vec![0, 1, 2, 4, 5, 6], 5),
            (Streamed::By(&two, 0), vec![3, 5, 13, 15, 23], 2),
            (Streamed::By(&nobody, 0), vec![], 1),
        ] {
            let asked = Cell::new(0);
            let is_over = |_| {
                asked.set(asked.get() + 1);
                false
            };
            let some = view.stream(which, &|_| true, &is_over).unwrap().unwrap();
            assert_eq!(asked.get(), asks, "{which:?}");
            let numbers: Vec<i64> = some
                .lids()
                .map(|lid| match &some.fields(lid).unwrap()[0] {
                    (0, FieldValue::Integer(number)) => *number,
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(numbers, expected, "{which:?}");
            assert!(some.attribute("n").is_some() && some.text(0).is_some());
        }
        let of_3 = Streamed::Of(Location::Group("3"));
        assert!(view.stream(of_3, &|_| true, &|_| true).unwrap().is_none());
        let takes = |least: usize| view.stream(of_3, &|_| true, &|bytes| bytes > least).unwrap();
        assert!(takes(500).is_none() && takes(1 << 20).is_some());
        // Fields that nobody wants are looked at, and kept out of what is searched.
        let some = view.stream(Streamed::By(&two, 0), &|field| field == 1, &|_| false);
        let some = some.unwrap().unwrap();
        let fields: Vec<_> = some.lids().map(|lid| some.fields(lid).unwrap()).collect();
        let word = |n: i64| vec![(1, FieldValue::Text(format!("word {n}")))];
        assert_eq!(fields, [3, 5, 13, 15, 23].map(word));
        assert_eq!(some.text(0).unwrap().frequency("word"), 5);
    }
}
