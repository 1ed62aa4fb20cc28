//! In which order the parts of a query are looked at.

use stead_store::StoreError;

use super::column::{Cost, cost};
use super::evaluate::Matcher;
use super::segment::Work;
use crate::query::Tree;

impl Matcher<'_> {
    /// Parts in the order in which they are looked at: by what they cost, which is told too, and of the same cost the one that leaves the
    /// fewest rows first.
    pub(super) fn by_cost<'t>(
        &self,
        parts: &'t [Tree],
        work: Option<&Work<'_>>,
    ) -> Result<Vec<(Cost, &'t Tree)>, StoreError> {
        let estimated = parts.iter().map(|part| Ok((self.estimate(part, work)?, part)));
        let mut sorted = estimated.collect::<Result<Vec<_>, StoreError>>()?;
        sorted.sort_by_key(|(estimate, _)| *estimate);
        Ok(sorted.into_iter().map(|((cost, _), part)| (cost, part)).collect())
    }

    pub(super) fn cost(&self, tree: &Tree, work: Option<&Work<'_>>) -> Result<Cost, StoreError> {
        self.estimate(tree, work).map(|(cost, _)| cost)
    }

    /// What a tree costs, and the most rows that it leaves. Columns are read only where there is no index yet that there should be.
    fn estimate(&self, tree: &Tree, work: Option<&Work<'_>>) -> Result<(Cost, usize), StoreError> {
        let rows = work.map_or(0, |work| work.segment().rows());
        let all = |parts: &[Tree]| {
            let parts = parts.iter().map(|part| self.estimate(part, work));
            parts.collect::<Result<Vec<_>, _>>()
        };
        Ok(match tree {
            Tree::All => (Cost::Nothing, rows),
            Tree::None => (Cost::Nothing, 0),
            // What they cost is that of the dearest part, which may see few rows only.
            Tree::And(parts) => {
                let both = all(parts)?.into_iter().reduce(|a, b| (a.0.max(b.0), a.1.min(b.1)));
                both.unwrap_or((Cost::Nothing, rows))
            }
            Tree::Or(parts) => {
                let any = all(parts)?.into_iter();
                let any = any.reduce(|a, b| (a.0.max(b.0), (a.1 + b.1).min(rows)));
                any.unwrap_or((Cost::Nothing, 0))
            }
            Tree::Not(inner) => (self.estimate(inner, work)?.0, rows),
            Tree::Rank(inner, _) => self.estimate(inner, work)?,
            Tree::Term(number) => {
                if let Some(most) = self.texts.most(*number) {
                    return Ok((Cost::Index, most.min(rows)));
                }
                let term = &self.tree.terms[*number];
                let Some((work, of)) = work.and_then(|work| Some((work, self.own(*number, work)?)))
                else {
                    // The values of parents lie apart.
                    return Ok(match work.is_some_and(|work| work.is_imported(&term.attribute)) {
                        true => (Cost::Rows, rows),
                        false => (Cost::Nothing, 0),
                    });
                };
                let told = self.told(*number, work.number())?;
                let most = told.map_or(rows, |told| told.most().min(rows));
                match told {
                    // What an index leaves of predicates has to be read.
                    Some(told) if !told.is_heavy() && told.is_cheaper(of.is_number, rows) => {
                        (Cost::Index, most)
                    }
                    _ => (cost(&term.test, of.is_number), most),
                }
            }
            // Once they are known they are as good as an index.
            Tree::Neighbor(number) => {
                let near = work.and_then(|work| self.near(*number, work.number()));
                near.map_or((Cost::Vectors, rows), |near| (Cost::Index, near.min(rows)))
            }
            Tree::WeakAnd(number) if self.knows_weak(*number) => (Cost::Index, rows),
            Tree::WeakAnd(_) => (Cost::Heavy, rows),
            Tree::SameElement(_) => (Cost::Heavy, rows),
        })
    }
}
