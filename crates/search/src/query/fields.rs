//! What the names of fields mean in queries.

use stead_app::application::{Field, MatchSettings, Schema, Sorting};
use stead_store::{DataType, DocumentType};

use super::error::SearchError;

/// What ends an exact text where the schema does not say.
const TERMINATOR: &str = "@@";

/// The names that queries may use.
#[derive(Debug, Clone, Copy)]
pub struct Searches<'s> {
    /// The schema.
    pub schema: &'s Schema,
    /// The type of its documents.
    pub documents: &'s DocumentType,
    /// Other types that the same query searches: what only these have, no document here has.
    pub others: &'s [Searches<'s>],
}

/// A field that a query names.
#[derive(Debug, Clone, PartialEq)]
pub struct Searched {
    /// Its name.
    pub name: String,
    /// The type of one value.
    pub kind: DataType,
    /// Whether a document has several.
    pub is_many: bool,
    /// Whether capitals make a difference.
    pub is_cased: bool,
    /// `match: prefix`, `substring` or `suffix`.
    pub algorithm: Option<String>,
    /// The number of its index of text.
    pub index: Option<usize>,
    /// Whether it is an attribute.
    pub is_attribute: bool,
}

impl Searched {
    /// Whether its values are whole numbers.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        matches!(self.kind, DataType::Byte | DataType::Int | DataType::Long)
    }

    /// Whether its values are numbers, whole or not.
    #[must_use]
    pub fn is_number(&self) -> bool {
        self.is_whole()
            || matches!(self.kind, DataType::Float16 | DataType::Float | DataType::Double)
    }
}

impl<'s> Searches<'s> {
    /// The names of one type of documents.
    #[must_use]
    pub fn new(schema: &'s Schema, documents: &'s DocumentType) -> Searches<'s> {
        Searches { schema, documents, others: &[] }
    }

    /// The fields that a name means: one, or those of a set of fields.
    ///
    /// # Errors
    /// When there is no such field, or it cannot be searched.
    pub fn find(&self, name: &str) -> Result<Vec<Searched>, SearchError> {
        match self.own(name)? {
            Some(found) => Ok(found),
            None if self.is_elsewhere(name) => Ok(Vec::new()),
            None => Err(self.unknown(self.canonical(name))),
        }
    }

    /// Whether another type that is searched has what a name means.
    #[must_use]
    pub fn is_elsewhere(&self, name: &str) -> bool {
        self.others.iter().any(|other| !matches!(other.own(name), Ok(None)))
    }

    fn own(&self, name: &str) -> Result<Option<Vec<Searched>>, SearchError> {
        let name = self.canonical(name);
        if let Some(found) = self.searched(name) {
            return Ok(Some(vec![found]));
        }
        let set = self.schema.field_sets.iter().find(|set| set.name.value == name);
        let Some(set) = set else { return Ok(None) };
        let mut found = Vec::new();
        for field in &set.fields {
            let field = field.value.as_str();
            found.push(self.searched(field).ok_or_else(|| self.unknown(field))?);
        }
        Ok(Some(found))
    }

    /// The field that a name means; nothing if only another type that is searched has it.
    ///
    /// # Errors
    /// As for [`Searches::find`], and when it means several.
    pub fn one(&self, name: &str) -> Result<Option<Searched>, SearchError> {
        let mut found = self.find(name)?;
        match (found.pop(), found.is_empty()) {
            (only, true) => Ok(only),
            _ => Err(SearchError::yql(format_args!("expected one field, found the set {name}"))),
        }
    }

    /// The name of a field that may be named by an alias.
    fn canonical<'n>(&'n self, name: &'n str) -> &'n str {
        let is_alias = |f: &&Field| f.aliases.iter().any(|alias| alias.value == name);
        self.schema.all_fields().find(is_alias).map_or(name, |f| &f.name.value)
    }

    /// What ends a text that people type of a name, where it means fields of exact texts alone (Vespa, `ExactMatch.java`).
    pub(super) fn terminator(&self, name: &str) -> Option<String> {
        let own = self.canonical(name);
        let field = |name: &str| self.schema.field(name).or_else(|| self.part(name));
        let set = || self.schema.field_sets.iter().find(|set| set.name.value == own);
        let matching: Vec<&MatchSettings> = match (field(own), set()) {
            (Some(field), _) => vec![&field.matching],
            (None, Some(set)) if set.matching.kind.is_some() => vec![&set.matching],
            (None, Some(set)) => {
                let fields = set.fields.iter().filter_map(|name| field(&name.value));
                fields.map(|field| &field.matching).collect()
            }
            (None, None) => return self.others.iter().find_map(|other| other.terminator(name)),
        };
        let of = |matching: &MatchSettings| {
            let said = matching.exact_terminator.as_deref().filter(|said| !said.is_empty());
            let is_exact = matching.kind.as_deref() == Some("exact");
            is_exact.then(|| said.unwrap_or(TERMINATOR).to_owned())
        };
        let first = of(matching.first()?);
        first.filter(|first| matching.iter().all(|matching| of(matching).as_ref() == Some(first)))
    }

    /// A field that has an index of text or is an attribute.
    fn searched(&self, name: &str) -> Option<Searched> {
        let index = self.documents.texts().iter().position(|index| index.name == name);
        let attribute = self.documents.attributes().iter().find(|a| a.name == name);
        let of_index = index.map(|at| &self.documents.texts()[at]);
        let (kind, is_many) = match (attribute.map(|a| &a.kind), of_index) {
            (Some(DataType::Array(of) | DataType::WeightedSet(of)), _) => ((**of).clone(), true),
            (Some(kind), _) => (kind.clone(), false),
            (None, Some(index)) => (DataType::Text, index.is_many),
            (None, None) => return None,
        };
        let matching = self.schema.field(name).or_else(|| self.part(name)).map(|f| &f.matching);
        Some(Searched {
            name: name.to_owned(),
            kind,
            is_many,
            is_cased: matching.is_some_and(|m| m.cased),
            algorithm: matching.and_then(|m| m.algorithm.clone()),
            index,
            is_attribute: attribute.is_some(),
        })
    }

    /// A field of a struct by its name with dots.
    fn part(&self, name: &str) -> Option<&Field> {
        let mut parts = name.split('.');
        let mut field = self.schema.field(parts.next()?)?;
        for part in parts {
            field = field.struct_fields.iter().find(|f| f.name.value == part)?;
        }
        Some(field)
    }

    /// What the schema says of the order of an attribute.
    pub(super) fn sorting(&self, name: &str) -> Option<&Sorting> {
        let field = self.schema.field(name).or_else(|| self.part(name))?;
        field.attribute.sorting.as_ref()
    }

    /// Whether a field has parts that are attributes, or several values that are searched.
    #[must_use]
    pub fn has_elements(&self, name: &str) -> bool {
        let within = |a: &stead_store::AttributeColumn| {
            a.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'))
                || (a.name == name
                    && matches!(a.kind, DataType::Array(_) | DataType::WeightedSet(_)))
        };
        let has_texts = |index: &stead_store::TextIndex| index.name == name && index.is_many;
        self.documents.attributes().iter().any(within)
            || self.documents.texts().iter().any(has_texts)
    }

    fn unknown(&self, name: &str) -> SearchError {
        match self.schema.field(name) {
            Some(field) if field.is_summary() => SearchError::yql(format_args!(
                "Field '{name}' is no attribute and has no index; it cannot be searched"
            )),
            _ => SearchError::yql(format_args!("Field '{name}' does not exist.")),
        }
    }
}
