//! How many documents have a term of a query, as ranking takes it (Vespa, `ProtonTermData::setDocumentFrequency`,
//! `ISearchContext::calc_hit_estimate`).

use stead_store::{DataType, StoreError};

use super::evaluate::Matcher;
use crate::query::{Term, Tree};

impl Matcher<'_> {
    /// How many documents have the words of a term, wherever these stand, or a value of an attribute that it wants; all there are where
    /// that is not known before they are looked at: of attributes without `fast-search` that are no bools, and of predicates.
    #[must_use]
    pub fn frequency(&self, term: usize) -> usize {
        self.texts.frequency(term, &|term| {
            // Values that cannot be read are an error where they are matched.
            self.told_frequency(term).ok().flatten()
        })
    }

    /// How many documents pass a test of an attribute, if that is known without a look at them or quickly found.
    fn told_frequency(&self, term: usize) -> Result<Option<usize>, StoreError> {
        let (Some(tested), Some(Term { test, .. })) =
            (self.tested(term).0, self.tree.terms.get(term))
        else {
            return Ok(None);
        };
        let Some(about) = self.about(tested) else { return Ok(None) };
        let is_bool = about.kind == DataType::Bool && !about.is_paged && about.import.is_none();
        let is_many = matches!(about.kind, DataType::Array(_) | DataType::WeightedSet(_));
        let mut count = 0_usize;
        for number in 0..self.segments.len() {
            let told = match self.told(term, number)? {
                None if !is_bool => return Ok(None),
                // To read predicates once more for this would cost as much as the query.
                Some(told) if told.is_heavy() => return Ok(None),
                told => told,
            };
            // Each value of a document is told of by itself.
            if let Some(known) = told.filter(|_| !is_many).and_then(|told| told.known(number)) {
                count += known;
                continue;
            }
            let Some(work) = self.work(number) else { continue };
            let alive = work.segment().alive();
            let rows = match told {
                Some(told) => told.passing(test, number, &|| work.column(tested.number), &alive)?.0,
                None => self.rows_of(&Tree::Term(term), &work, &alive)?,
            };
            count += rows.count();
        }
        Ok(Some(count))
    }
}
