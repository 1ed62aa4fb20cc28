//! What requests add to a query: `filter` and `recall`.

use super::super::error::SearchError;
use super::super::simple::{Item, Sign, Syntax};
use super::super::tree::Tree;
use super::Builder;

/// Parts by what their signs say.
#[derive(Default)]
struct Signed {
    must: Vec<Tree>,
    not: Vec<Tree>,
    may: Vec<Tree>,
}

impl Builder<'_> {
    /// What `filter` adds to what was typed: what stands behind `+` must be there, what stands behind `-` must not, and the rest is for ranking
    /// only. Where nothing was typed it says what is looked for (Vespa, `AnyParser.java`, `AbstractParser.java`).
    pub(super) fn filtered(&mut self, tree: Tree, is_typed: bool) -> Result<Tree, SearchError> {
        let filter = (self.parameters)("model.filter").unwrap_or_default();
        let items = self.items(&filter, Syntax::Simple, None)?;
        if items.is_empty() {
            return Ok(tree);
        }
        let before = self.tree.terms.len();
        let Signed { mut must, mut not, may } = self.by_sign(&items)?;
        self.tree.terms.iter_mut().skip(before).for_each(|term| term.style.is_filter = true);
        let ranked = match (is_typed, must.is_empty()) {
            (true, _) => {
                must.insert(0, tree);
                may
            }
            (false, true) => {
                must.push(if may.is_empty() { Tree::None } else { Tree::any(may) });
                Vec::new()
            }
            (false, false) => may,
        };
        must.append(&mut not);
        let found = Tree::all(must);
        Ok(if ranked.is_empty() { found } else { Tree::Rank(Box::new(found), ranked) })
    }

    /// What `recall` adds to a query: what must be there and what must not, which ranking knows nothing of (Vespa, `RecallSearcher.java`).
    pub(super) fn recalled(&mut self, tree: Tree) -> Result<Tree, SearchError> {
        let Some(recall) = (self.parameters)("recall") else { return Ok(tree) };
        let index = self.default_index(None);
        let items = self.items(&recall, Syntax::Simple, Some(&index))?;
        if items.is_empty() {
            return Err(SearchError::parameter("Failed to parse recall parameter."));
        }
        if items.iter().any(|item| item.sign.is_none()) {
            let text = "Recall contains at least one rank item.";
            return Err(SearchError::parameter(text));
        }
        let before = self.tree.terms.len();
        let Signed { mut must, mut not, .. } = self.by_sign(&items)?;
        for term in self.tree.terms.iter_mut().skip(before) {
            (term.style.is_ranked, term.style.is_filter) = (false, true);
        }
        must.insert(0, tree);
        must.append(&mut not);
        Ok(Tree::all(must))
    }

    fn by_sign(&mut self, items: &[Item]) -> Result<Signed, SearchError> {
        let index = self.default_index(None);
        let mut signed = Signed::default();
        for item in items {
            let part = self.signed(item, &index)?;
            match item.sign {
                Some(Sign::Must) => signed.must.push(part),
                Some(Sign::Not) => signed.not.push(part),
                None => signed.may.push(part),
            }
        }
        Ok(signed)
    }
}
