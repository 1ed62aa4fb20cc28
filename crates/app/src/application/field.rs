//! Fields of documents and of schemas.

use crate::package::Located;
use crate::schema::{Argument, FieldType, IndexingLiteral, Name, Operation, Script};

/// A field.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub kind: Located<FieldType>,
    /// The document or schema that it is inherited from.
    pub from: Option<String>,
    /// What happens to its value when a document is written.
    pub indexing: Option<Script>,
    /// `index`
    pub index: IndexSettings,
    /// `attribute`
    pub attribute: AttributeSettings,
    /// `match`
    pub matching: MatchSettings,
    /// `rank: filter`
    pub is_filter: bool,
    /// `rank-type`; `about` if nothing is said.
    pub rank_type: Option<String>,
    /// `stemming`
    pub stemming: Option<String>,
    /// `normalizing`
    pub normalizing: Option<String>,
    /// `linguistics`: the profiles for indexing and for search.
    pub linguistics: Option<(String, String)>,
    /// `weight`, 100 if nothing is said.
    pub weight: Option<i64>,
    /// `weightedset`: create elements that an update names, remove those that it makes 0.
    pub weighted_set: (bool, bool),
    /// `bolding`
    pub is_bold: bool,
    /// `dictionary`, as its words.
    pub dictionary: Vec<String>,
    /// `alias`
    pub aliases: Vec<Name>,
    /// `query-command`
    pub query_commands: Vec<Name>,
    /// `summary`
    pub summaries: Vec<SummaryField>,
    /// `struct-field`
    pub struct_fields: Vec<Field>,
}

/// `index { ... }`
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IndexSettings {
    /// Whether bm25 can be computed.
    pub has_bm25: bool,
    /// Whether and how neighbours are found by a graph.
    pub hnsw: Option<Hnsw>,
    /// `stemming`
    pub stemming: Option<String>,
    /// Of predicates: the arity of trees of ranges.
    pub arity: Option<i64>,
    /// Of predicates: the smallest value.
    pub lower_bound: Option<i64>,
    /// Of predicates: the largest value.
    pub upper_bound: Option<i64>,
    /// Of predicates: when lists become dense.
    pub dense_posting_list_threshold: Option<f64>,
}

/// `hnsw { ... }`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hnsw {
    /// The most links of a node; twice as many on the lowest level.
    pub max_links_per_node: u32,
    /// The candidates that are looked at for a new node.
    pub neighbors_to_explore_at_insert: u32,
}

impl Default for Hnsw {
    /// The defaults of Vespa.
    fn default() -> Hnsw {
        Hnsw { max_links_per_node: 16, neighbors_to_explore_at_insert: 200 }
    }
}

/// `attribute { ... }`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AttributeSettings {
    /// Posting lists beside the values.
    pub fast_search: bool,
    /// In memory on nodes that do not search it too.
    pub fast_access: bool,
    /// Decoded for ranking.
    pub fast_rank: bool,
    /// On disk, paged in.
    pub paged: bool,
    /// May be changed by queries.
    pub mutable: bool,
    /// `distance-metric`; `euclidean` if nothing is said.
    pub distance_metric: Option<String>,
    /// `sorting`
    pub sorting: Option<Sorting>,
}

/// `sorting { ... }`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sorting {
    /// From the largest.
    pub descending: bool,
    /// `uca`, `raw` or `lowercase`
    pub function: Option<String>,
    /// `primary` to `identical`
    pub strength: Option<String>,
    /// Such as `en-US`.
    pub locale: Option<String>,
}

/// `match { ... }`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MatchSettings {
    /// `text`, `word`, `exact` or `gram`
    pub kind: Option<String>,
    /// Whether `cased` was said; `uncased` otherwise.
    pub cased: bool,
    /// `prefix`, `substring` or `suffix`
    pub algorithm: Option<String>,
    /// What ends an exact word in a query.
    pub exact_terminator: Option<String>,
    /// The characters of a gram.
    pub gram_size: Option<i64>,
    /// The most characters of a value that are indexed.
    pub max_length: Option<i64>,
    /// The most occurrences of a term in a value.
    pub max_occurrences: Option<i64>,
    /// The most characters of a term.
    pub max_token_length: Option<i64>,
}

/// A field of a result, in a field or in a document summary.
#[derive(Debug, Clone, PartialEq)]
pub struct SummaryField {
    /// Its name.
    pub name: Name,
    /// Its type, where it is said.
    pub kind: Option<Located<FieldType>>,
    /// The fields that it is made from; its own name if none is said.
    pub sources: Vec<Name>,
    /// `dynamic`, `tokens`, `matched-elements-only` or nothing.
    pub transform: Option<&'static str>,
    /// The feature that selects elements.
    pub select_elements_by: Option<Name>,
    /// `bolding`
    pub is_bold: bool,
}

impl Field {
    /// A field with nothing but a name and a type.
    pub(crate) fn new(name: Name, kind: Located<FieldType>) -> Field {
        Field {
            name,
            kind,
            from: None,
            indexing: None,
            index: IndexSettings::default(),
            attribute: AttributeSettings::default(),
            matching: MatchSettings::default(),
            is_filter: false,
            rank_type: None,
            stemming: None,
            normalizing: None,
            linguistics: None,
            weight: None,
            weighted_set: (false, false),
            is_bold: false,
            dictionary: Vec::new(),
            aliases: Vec::new(),
            query_commands: Vec::new(),
            summaries: Vec::new(),
            struct_fields: Vec::new(),
        }
    }

    /// The names that its script writes to by a word such as `attribute`.
    #[must_use]
    pub fn outputs(&self, word: &str) -> Vec<&str> {
        let Some(script) = &self.indexing else { return Vec::new() };
        script
            .steps()
            .into_iter()
            .filter_map(|step| match &step.operation {
                Operation::Call(name, arguments) if *name == word => Some(arguments.first()),
                _ => None,
            })
            .map(|argument| match argument {
                Some(Argument::Name(other)) => other.as_str(),
                _ => self.name.value.as_str(),
            })
            .collect()
    }

    /// Whether its value is in memory, for ranking, sorting and grouping.
    #[must_use]
    pub fn is_attribute(&self) -> bool {
        !self.outputs("attribute").is_empty()
    }

    /// Whether its value can be searched by an index.
    #[must_use]
    pub fn is_index(&self) -> bool {
        !self.outputs("index").is_empty()
    }

    /// Whether its value is in results.
    #[must_use]
    pub fn is_summary(&self) -> bool {
        !self.outputs("summary").is_empty() || !self.summaries.is_empty()
    }

    /// The ids of the components that its script asks by a word such as `embed`; empty for the only one there is.
    #[must_use]
    pub fn components(&self, word: &str) -> Vec<String> {
        let Some(script) = &self.indexing else { return Vec::new() };
        let id = |arguments: &[Argument]| match arguments.first() {
            Some(Argument::Name(id) | Argument::Literal(IndexingLiteral::Text(id))) => id.clone(),
            _ => String::new(),
        };
        script.calls(word).map(|(_, arguments)| id(arguments)).collect()
    }
}
