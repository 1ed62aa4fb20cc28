//! `sameElement`, and elements by their number.

use super::super::error::SearchError;
use super::super::tree::{SameElement, Tree};
use super::annotations::element_number;
use super::{Builder, fail};
use crate::yql::Node;

impl<'b> Builder<'b> {
    /// `field contains sameElement(...)`
    pub(super) fn same_element(
        &mut self,
        field: &'b Node,
        list: &'b [Node],
    ) -> Result<Tree, SearchError> {
        if self.element.is_some() {
            return fail("sameElement is not supported within sameElement");
        }
        let field = self.field(field)?;
        self.check_elements(&field)?;
        if list.is_empty() {
            return fail("Expected 1 or more arguments, got 0.");
        }
        let elements = self.element_filter()?;
        self.element = Some(field.clone());
        let parts = self.list(list);
        self.element = None;
        let tree = Box::new(Tree::all(parts?));
        Ok(Tree::SameElement(SameElement { field, tree, elements }))
    }

    /// `field[number] = value`
    pub(super) fn element_equals(
        &mut self,
        of: &'b Node,
        place: &'b Node,
        value: &'b Node,
    ) -> Result<Tree, SearchError> {
        let whole = self.field(of)?;
        let element = element_number(&place.expr)?;
        let text = self.text(value)?;
        // Of a part of a struct the elements are those of the field.
        let field = whole.split('.').next().unwrap_or_default().to_owned();
        self.check_elements(&field)?;
        // Elements are those of the attribute.
        self.element = Some(field.clone());
        let tree = self.element_text(&whole, &text);
        self.element = None;
        let tree = Box::new(tree?);
        Ok(Tree::SameElement(SameElement { field, tree, elements: vec![element] }))
    }

    /// `map{key} contains value` or `map{key} = value`: the value that stands with a key.
    pub(super) fn entry_equals(
        &mut self,
        of: &'b Node,
        key: &'b Node,
        value: &str,
    ) -> Result<Tree, SearchError> {
        if self.element.is_some() {
            return fail("the key of a map is not supported within sameElement");
        }
        let (field, key) = (self.field(of)?, self.text(key)?);
        self.check_elements(&field)?;
        self.element = Some(field.clone());
        let parts = [("key", key.as_str()), ("value", value)];
        let parts = parts.map(|(part, text)| self.element_text(&format!("{field}.{part}"), text));
        self.element = None;
        let parts = parts.into_iter().collect::<Result<Vec<_>, _>>()?;
        let tree = Box::new(Tree::all(parts));
        Ok(Tree::SameElement(SameElement { field, tree, elements: Vec::new() }))
    }

    fn check_elements(&self, field: &str) -> Result<(), SearchError> {
        let mut others = self.searches.others.iter();
        if self.searches.has_elements(field) || others.any(|o| o.has_elements(field)) {
            return Ok(());
        }
        // The field goes first: who names one that there is not should hear of that.
        if self.searches.schema.field(field).is_none() {
            self.searches.find(field)?;
        }
        fail(format_args!(
            "Field '{field}' has no elements that are searched; sameElement needs an array, a weighted set, or struct fields that are attributes"
        ))
    }
}
