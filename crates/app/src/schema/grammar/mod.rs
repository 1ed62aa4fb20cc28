//! The elements of a schema: one table for each element that holds others
//! (facts: Vespa, `config-model/src/main/javacc/SchemaParser.jj`; documentation, `reference/schemas/schemas.html`).
//!
//! What is not in these tables does not exist. What Vespa has and stead has not, or has without an effect, is in them with the reason.

mod build;
mod profiles;
mod schemas;

use build::used;

/// One kind of element.
#[derive(Debug, PartialEq, Eq)]
pub struct Spec {
    /// The word with which it begins.
    pub keyword: &'static str,
    /// What stands between the word and the value.
    pub head: Head,
    /// What its value is.
    pub form: Form,
    /// What becomes of it.
    pub status: Status,
}

/// What stands between keyword and value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Head {
    /// Nothing.
    Bare,
    /// A name.
    Named,
    /// A name, or nothing and the name of the element around it.
    MayBeNamed,
    /// A name, then names behind `inherits`.
    Inherits,
    /// A name or nothing, then names behind `inherits`.
    MayInherit,
    /// A name and a type.
    Typed,
    /// A name or nothing, then a type or nothing.
    MayBeTyped,
    /// `field reference.field as name`
    Import,
    /// `inline` or nothing, then a name and parameters in parentheses.
    Function,
    /// A name with or without quotes.
    Quoted,
    /// `inherits` with names, or nothing.
    OnlyInherits,
}

/// What the value of an element is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Nothing.
    Flag,
    /// Nothing, or a colon and `true` or `false`.
    FlagOrBool,
    /// `: 3`
    Integer,
    /// `: 3` or `: infinity`
    Gap,
    /// `: 0.5`
    Number,
    /// `: true`
    Bool,
    /// `: word`
    Word,
    /// One of some words behind a colon.
    Choice(&'static [&'static str]),
    /// `: "text"`, or one word.
    Text,
    /// `: a, b`
    Names,
    /// `: files/model.onnx`
    Path,
    /// `: tensor(x[3])`
    Type,
    /// `: expression` up to the end of the line, or `{ expression }`
    Expression,
    /// A list of features, in the form of an expression.
    Features,
    /// `: anything` up to the end of the line
    Line,
    /// `: statement` up to the end of the line, or `{ statements }`
    Script,
    /// `{ elements }`
    Body(Holds),
    /// `{ elements }` or nothing
    MayHaveBody(Holds),
    /// `: element` or `{ elements }`
    Setting(Holds),
    /// `: word` or `{ elements }`
    WordOrBody(Holds),
    /// `{ query(name) type: value ... }`
    Inputs,
    /// `{ name type: value ... }`
    Constants,
    /// `{ key: value ... }`
    Properties,
    /// `{ attribute += 1 }`
    Mutation,
}

/// What becomes of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It has its effect, or one of its effects at least.
    Used,
    /// It has no effect, because of this.
    Ignored(&'static str),
    /// A package that has it is refused, because of this.
    Refused(&'static str),
}

/// Elements that may hold others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// A file of its own.
    File,
    /// A `.profile` file.
    ProfileFile,
    /// `schema`
    Schema,
    /// `document`
    Document,
    /// `struct`
    Struct,
    /// A field of a struct.
    Member,
    /// `field`
    Field,
    /// `struct-field`
    StructField,
    /// `fieldset`
    FieldSet,
    /// `match`
    Match,
    /// `index`
    Index,
    /// `hnsw`
    Hnsw,
    /// `attribute`
    Attribute,
    /// `sorting`
    Sorting,
    /// `dictionary`
    Dictionary,
    /// `rank` of a field
    Rank,
    /// `weightedset`
    WeightedSet,
    /// `map`
    Map,
    /// `linguistics`
    Linguistics,
    /// `profile` of `linguistics`
    LinguisticsProfile,
    /// `summary`
    Summary,
    /// `document-summary`
    DocumentSummary,
    /// `onnx-model`
    OnnxModel,
    /// `constant`
    Constant,
    /// `rank-profile`
    Profile,
    /// `function`
    Function,
    /// `first-phase`
    FirstPhase,
    /// `second-phase`
    SecondPhase,
    /// `global-phase`
    GlobalPhase,
    /// `match-phase`
    MatchPhase,
    /// `diversity`
    Diversity,
    /// `rank f` of a profile
    ProfileField,
    /// `mutate`
    Mutate,
    /// `significance`
    Significance,
    /// `weakand`
    WeakAnd,
    /// Nothing.
    Nothing,
}

/// Entries of `inputs`, `constants`, `rank-properties` and `mutate`, which have no keyword.
pub static ENTRY: Spec = used("entry", Head::Named, Form::Line);

impl Holds {
    /// The elements that it may hold.
    #[must_use]
    pub fn specs(self) -> &'static [Spec] {
        match self {
            Holds::File => &schemas::FILE,
            Holds::ProfileFile => &schemas::PROFILE_FILE,
            Holds::Schema => &schemas::SCHEMA,
            Holds::Document => &schemas::DOCUMENT,
            Holds::Struct => &schemas::STRUCT,
            Holds::Member => &schemas::MEMBER,
            Holds::Field => &schemas::FIELD,
            Holds::StructField => &schemas::STRUCT_FIELD,
            Holds::FieldSet => &schemas::FIELD_SET,
            Holds::Match => &schemas::MATCH,
            Holds::Index => &schemas::INDEX,
            Holds::Hnsw => &schemas::HNSW,
            Holds::Attribute => &schemas::ATTRIBUTE,
            Holds::Sorting => &schemas::SORTING,
            Holds::Dictionary => &schemas::DICTIONARY,
            Holds::Rank => &schemas::RANK,
            Holds::WeightedSet => &schemas::WEIGHTED_SET,
            Holds::Map => &schemas::MAP,
            Holds::Linguistics => &schemas::LINGUISTICS,
            Holds::LinguisticsProfile => &schemas::LINGUISTICS_PROFILE,
            Holds::Summary => &schemas::SUMMARY,
            Holds::DocumentSummary => &schemas::DOCUMENT_SUMMARY,
            Holds::OnnxModel => &schemas::ONNX_MODEL,
            Holds::Constant => &schemas::CONSTANT,
            Holds::Profile => &profiles::PROFILE,
            Holds::Function => &profiles::FUNCTION,
            Holds::FirstPhase => &profiles::FIRST_PHASE,
            Holds::SecondPhase => &profiles::SECOND_PHASE,
            Holds::GlobalPhase => &profiles::GLOBAL_PHASE,
            Holds::MatchPhase => &profiles::MATCH_PHASE,
            Holds::Diversity => &profiles::DIVERSITY,
            Holds::ProfileField => &profiles::PROFILE_FIELD,
            Holds::Mutate => &profiles::MUTATE,
            Holds::Significance => &profiles::SIGNIFICANCE,
            Holds::WeakAnd => &profiles::WEAK_AND,
            Holds::Nothing => &[],
        }
    }

    /// The kind of element of this keyword.
    #[must_use]
    pub fn find(self, keyword: &str) -> Option<&'static Spec> {
        self.specs().iter().find(|s| s.keyword == keyword)
    }
}
