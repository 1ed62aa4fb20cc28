//! Schemas, documents, fields and what is in them.

use super::build::{bare, flag, ignored, refused, used};
use super::{Form, Head, Holds, Spec};
use crate::BackendKind;

const STEMMING: Form = Form::Choice(&["none", "best", "shortest", "multiple", "all"]);

pub(super) const NO_URI: &str = "only files of the package are read; use file";

pub(super) static FILE: [Spec; 3] = [
    used("schema", Head::Inherits, Form::Body(Holds::Schema)),
    used("search", Head::Inherits, Form::Body(Holds::Schema)),
    used("document", Head::Inherits, Form::Body(Holds::Document)),
];

pub(super) static PROFILE_FILE: [Spec; 1] =
    [used("rank-profile", Head::Inherits, Form::Body(Holds::Profile))];

pub(super) static SCHEMA: [Spec; 16] = [
    used("document", Head::MayInherit, Form::Body(Holds::Document)),
    used("field", Head::Typed, Form::Body(Holds::Field)),
    used("struct", Head::Inherits, Form::Body(Holds::Struct)),
    used("fieldset", Head::Named, Form::Body(Holds::FieldSet)),
    used("rank-profile", Head::Inherits, Form::Body(Holds::Profile)),
    used("model", Head::Inherits, Form::Body(Holds::Profile)),
    used("constant", Head::Named, Form::Body(Holds::Constant)),
    used("onnx-model", Head::Named, Form::Body(Holds::OnnxModel)),
    used("document-summary", Head::Inherits, Form::Body(Holds::DocumentSummary)),
    used("import", Head::Import, Form::Body(Holds::Nothing)),
    bare("stemming", STEMMING),
    bare("raw-as-base64-in-summary", Form::FlagOrBool),
    ignored(
        "documentid",
        Head::Bare,
        Form::Choice(&["attribute", "from-disk"]),
        "document ids are always in memory",
    ),
    refused(
        "index",
        Head::Named,
        Form::Setting(Holds::Index),
        "an index belongs to a field; use index in a field of the schema",
    ),
    refused(
        "annotation",
        Head::Inherits,
        Form::Body(Holds::Struct),
        "annotations of texts are not supported",
    ),
    refused(
        "compression",
        Head::Bare,
        Form::Body(Holds::Nothing),
        "compression of documents is not configurable",
    ),
];

pub(super) static DOCUMENT: [Spec; 4] = [
    used("field", Head::Typed, Form::Body(Holds::Field)),
    used("struct", Head::Inherits, Form::Body(Holds::Struct)),
    refused(
        "annotation",
        Head::Inherits,
        Form::Body(Holds::Struct),
        "annotations of texts are not supported",
    ),
    refused(
        "compression",
        Head::Bare,
        Form::Body(Holds::Nothing),
        "compression of documents is not configurable",
    ),
];

pub(super) static STRUCT: [Spec; 1] = [used("field", Head::Typed, Form::Body(Holds::Member))];

const ID: Spec = ignored("id", Head::Bare, Form::Integer, "fields are known by their names");

pub(super) static MEMBER: [Spec; 2] = [ID, bare("match", Form::Setting(Holds::Match))];

pub(super) static FIELD: [Spec; 22] = [
    bare("indexing", Form::Script),
    used("index", Head::MayBeNamed, Form::Setting(Holds::Index)),
    used("attribute", Head::MayBeNamed, Form::Setting(Holds::Attribute)),
    bare("match", Form::Setting(Holds::Match)),
    bare("rank", Form::Setting(Holds::Rank)),
    used("rank-type", Head::MayBeNamed, Form::Choice(RANK_TYPES)),
    used("summary", Head::MayBeTyped, Form::Setting(Holds::Summary)),
    bare("bolding", Form::Bool),
    bare("stemming", STEMMING),
    bare("normalizing", Form::Choice(&["none", "codepoint", "lowercase", "accent", "all"])),
    bare("linguistics", Form::Body(Holds::Linguistics)),
    bare("sorting", Form::Setting(Holds::Sorting)),
    bare("weight", Form::Integer),
    bare("weightedset", Form::Setting(Holds::WeightedSet)),
    bare("dictionary", Form::Setting(Holds::Dictionary)),
    used("struct-field", Head::Named, Form::Body(Holds::StructField)),
    bare("map", Form::Setting(Holds::Map)),
    ID,
    used("alias", Head::MayBeNamed, Form::Word),
    bare("query-command", Form::Text),
    ignored(
        "summary-to",
        Head::MayBeNamed,
        Form::Names,
        "document-summary names the fields of a summary",
    ),
    refused("header", Head::Bare, Form::Flag, "it was removed from Vespa 8; leave it out"),
];

/// The names of `stead_tensor::Precision`.
pub(super) const PRECISIONS: &[&str] = &["f32", "bf16", "f64", "int8"];

/// What evaluates a model, by the names of [`BackendKind`].
const BACKENDS: &[&str] = &[BackendKind::NAMES[0].0, BackendKind::NAMES[1].0];

/// The rank types of a field.
pub(super) const RANK_TYPES: &[&str] =
    &["identity", "about", "tags", "empty", "default", "literal"];

pub(super) static STRUCT_FIELD: [Spec; 8] = [
    bare("indexing", Form::Script),
    used("attribute", Head::MayBeNamed, Form::Setting(Holds::Attribute)),
    bare("match", Form::Setting(Holds::Match)),
    bare("rank", Form::Setting(Holds::Rank)),
    used("summary", Head::MayBeTyped, Form::Setting(Holds::Summary)),
    used("struct-field", Head::Named, Form::Body(Holds::StructField)),
    bare("query-command", Form::Text),
    ignored(
        "summary-to",
        Head::MayBeNamed,
        Form::Names,
        "document-summary names the fields of a summary",
    ),
];

pub(super) static FIELD_SET: [Spec; 3] = [
    bare("fields", Form::Names),
    bare("query-command", Form::Text),
    bare("match", Form::Setting(Holds::Match)),
];

pub(super) static MATCH: [Spec; 15] = [
    flag("text"),
    flag("token"),
    flag("word"),
    flag("exact"),
    flag("gram"),
    flag("cased"),
    flag("uncased"),
    flag("prefix"),
    flag("substring"),
    flag("suffix"),
    bare("exact-terminator", Form::Text),
    bare("gram-size", Form::Integer),
    bare("max-length", Form::Integer),
    bare("max-occurrences", Form::Integer),
    bare("max-token-length", Form::Integer),
];

pub(super) static INDEX: [Spec; 9] = [
    flag("enable-bm25"),
    bare("hnsw", Form::MayHaveBody(Holds::Hnsw)),
    bare("stemming", STEMMING),
    bare("alias", Form::Word),
    ignored("prefix", Head::Bare, Form::Flag, "every index can be searched by prefixes"),
    bare("arity", Form::Integer),
    bare("lower-bound", Form::Integer),
    bare("upper-bound", Form::Integer),
    bare("dense-posting-list-threshold", Form::Number),
];

pub(super) static HNSW: [Spec; 3] = [
    bare("max-links-per-node", Form::Integer),
    bare("neighbors-to-explore-at-insert", Form::Integer),
    ignored(
        "multi-threaded-indexing",
        Head::Bare,
        Form::Bool,
        "threads are shared by all that computes",
    ),
];

/// The distance metrics of tensor attributes.
const METRICS: &[&str] = &[
    "euclidean",
    "angular",
    "dotproduct",
    "prenormalized-angular",
    "prenormalized_angular",
    "innerproduct",
    "geodegrees",
    "hamming",
];

pub(super) static ATTRIBUTE: [Spec; 10] = [
    flag("fast-search"),
    flag("fast-access"),
    flag("fast-rank"),
    flag("paged"),
    flag("mutable"),
    bare("sorting", Form::Setting(Holds::Sorting)),
    bare("distance-metric", Form::Choice(METRICS)),
    used("alias", Head::MayBeNamed, Form::Word),
    ignored("enable-bit-vectors", Head::Bare, Form::Flag, "Vespa 8 has no such setting either"),
    ignored(
        "enable-only-bit-vector",
        Head::Bare,
        Form::Flag,
        "the form of posting lists is chosen by their length",
    ),
];

pub(super) static SORTING: [Spec; 5] = [
    flag("ascending"),
    flag("descending"),
    bare("function", Form::Choice(&["uca", "raw", "lowercase"])),
    bare(
        "strength",
        Form::Choice(&["primary", "secondary", "tertiary", "quaternary", "identical"]),
    ),
    bare("locale", Form::Word),
];

pub(super) static DICTIONARY: [Spec; 4] =
    [flag("hash"), flag("btree"), flag("cased"), flag("uncased")];

pub(super) static RANK: [Spec; 3] = [
    flag("filter"),
    flag("normal"),
    ignored("literal", Head::Bare, Form::Flag, "Vespa 8 has no literal fields either"),
];

pub(super) static WEIGHTED_SET: [Spec; 2] = [flag("create-if-nonexistent"), flag("remove-if-zero")];

pub(super) static MAP: [Spec; 1] = [flag("fast-search")];

pub(super) static LINGUISTICS: [Spec; 1] =
    [bare("profile", Form::WordOrBody(Holds::LinguisticsProfile))];

pub(super) static LINGUISTICS_PROFILE: [Spec; 2] =
    [bare("index", Form::Word), bare("search", Form::Word)];

pub(super) static SUMMARY: [Spec; 9] = [
    flag("full"),
    flag("static"),
    flag("dynamic"),
    flag("tokens"),
    flag("matched-elements-only"),
    bare("select-elements-by", Form::Line),
    bare("bolding", Form::Bool),
    bare("source", Form::Names),
    ignored("to", Head::Bare, Form::Names, "document-summary names the fields of a summary"),
];

pub(super) static DOCUMENT_SUMMARY: [Spec; 3] = [
    used("summary", Head::MayBeTyped, Form::MayHaveBody(Holds::Summary)),
    flag("from-disk"),
    flag("omit-summary-features"),
];

pub(super) static ONNX_MODEL: [Spec; 11] = [
    bare("file", Form::Path),
    used("input", Head::Quoted, Form::Line),
    used("output", Head::Quoted, Form::Line),
    bare("gpu-device", Form::Integer),
    bare("intraop-threads", Form::Integer),
    bare("interop-threads", Form::Integer),
    bare("execution-mode", Form::Choice(&["sequential", "parallel"])),
    bare("precision", Form::Choice(PRECISIONS)),
    ignored("optimize-model", Head::Bare, Form::Bool, "models are always optimised"),
    bare("backend", Form::Choice(BACKENDS)),
    refused("uri", Head::Bare, Form::Line, NO_URI),
];

pub(super) static CONSTANT: [Spec; 3] = [
    bare("file", Form::Path),
    bare("type", Form::Type),
    refused("uri", Head::Bare, Form::Line, NO_URI),
];
