//! `uri`: words of addresses that stand one behind the other, at the beginning or end of a host if that is wanted.

use stead_text::{AddressPart, HOST_BEGINS, HOST_ENDS, Pattern, Phrases, Unit, address_words};

use super::super::error::SearchError;
use super::super::fields::Searched;
use super::super::tree::Tree;
use super::{Builder, arguments, fail};
use crate::yql::Node;

impl<'b> Builder<'b> {
    /// `field contains uri("a.com/b")`. What is asked of the index of host names is their end, unless `endAnchor` is false (Vespa, `YqlParser.java`).
    pub(super) fn uri(&mut self, field: &str, list: &'b [Node]) -> Result<Tree, SearchError> {
        let [text] = arguments(list)?;
        let text = self.text(text)?;
        let begins = self.bool_annotation("startAnchor")?.unwrap_or(false);
        let ends = self.bool_annotation("endAnchor")?;
        self.address(field, &text, begins, ends)
    }

    /// A host that was typed: `^` before it stands for its beginning, and it is one to its end unless `*` was behind it (Vespa,
    /// `StructuredParser.java`).
    pub(super) fn host(
        &mut self,
        field: &str,
        text: &str,
        ends: bool,
    ) -> Result<Tree, SearchError> {
        self.address(field, text, text.starts_with('^'), Some(ends))
    }

    /// Whether a name is that of one index of host names.
    pub(super) fn has_host_names(&self, field: &str) -> bool {
        let found = self.searches.find(field).unwrap_or_default();
        matches!(&found[..], [only] if self.is_of_host_names(only))
    }

    fn is_of_host_names(&self, field: &Searched) -> bool {
        let index = field.index.and_then(|index| self.searches.documents.texts().get(index));
        let unit = index.map(|index| index.analysis.unit);
        unit == Some(Unit::Address(AddressPart::HostName))
    }

    fn address(
        &mut self,
        field: &str,
        text: &str,
        begins: bool,
        ends: Option<bool>,
    ) -> Result<Tree, SearchError> {
        let fields = self.searches.find(field)?;
        self.one_item(|builder| {
            let mut any = Vec::new();
            for field in &fields {
                let Some(index) = field.index else {
                    return fail(format_args!(
                        "Field '{}' has no index of text, which uri needs",
                        field.name
                    ));
                };
                let analysis = builder.analysis(index, false)?;
                let mut words = Vec::new();
                words.extend(begins.then(|| HOST_BEGINS.to_owned()));
                for word in address_words(text) {
                    words.extend(builder.terms(&analysis, &text[word])?);
                }
                let ends = ends.unwrap_or_else(|| builder.is_of_host_names(field));
                words.extend(ends.then(|| HOST_ENDS.to_owned()));
                any.push(match <[String; 1]>::try_from(words) {
                    Ok([word]) => builder.pattern(field, index, Pattern::Term(word))?,
                    Err(words) if words.is_empty() => Tree::None,
                    Err(words) => {
                        let phrase = Pattern::Phrases(Phrases::one(words));
                        builder.pattern(field, index, phrase)?
                    }
                });
            }
            Ok(Tree::any(any))
        })
    }
}
