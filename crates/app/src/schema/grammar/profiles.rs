//! Rank profiles and what is in them.

use super::build::{bare, flag, ignored, refused, used};
use super::schemas::{PRECISIONS, RANK_TYPES};
use super::{Form, Head, Holds, Spec};

pub(super) static PROFILE: [Spec; 39] = [
    bare("inputs", Form::Inputs),
    bare("constants", Form::Constants),
    used("function", Head::Function, Form::Body(Holds::Function)),
    used("macro", Head::Function, Form::Body(Holds::Function)),
    bare("first-phase", Form::Body(Holds::FirstPhase)),
    bare("second-phase", Form::Body(Holds::SecondPhase)),
    bare("global-phase", Form::Body(Holds::GlobalPhase)),
    used("match-features", Head::OnlyInherits, Form::Features),
    used("summary-features", Head::OnlyInherits, Form::Features),
    bare("rank-features", Form::Features),
    flag("ignore-default-rank-features"),
    bare("rank-properties", Form::Properties),
    bare("match-phase", Form::Body(Holds::MatchPhase)),
    bare("diversity", Form::Body(Holds::Diversity)),
    bare("num-threads-per-search", Form::Integer),
    bare("min-hits-per-thread", Form::Integer),
    bare("num-search-partitions", Form::Integer),
    bare("termwise-limit", Form::Number),
    bare("post-filter-threshold", Form::Number),
    bare("approximate-threshold", Form::Number),
    bare("filter-first-threshold", Form::Number),
    bare("filter-first-exploration", Form::Number),
    bare("exploration-slack", Form::Number),
    bare("target-hits-max-adjustment-factor", Form::Number),
    ignored(
        "prefetch-tensors",
        Head::Bare,
        Form::Bool,
        "tensors of attributes are read in place, and those on disk are always fetched before they are read",
    ),
    used("rank", Head::Named, Form::Setting(Holds::ProfileField)),
    used("rank-type", Head::Named, Form::Choice(RANK_TYPES)),
    used("weight", Head::Named, Form::Integer),
    used("onnx-model", Head::Named, Form::Body(Holds::OnnxModel)),
    bare("precision", Form::Choice(PRECISIONS)),
    used("constant", Head::Named, Form::Body(Holds::Constant)),
    used("rank-profile", Head::Inherits, Form::Body(Holds::Profile)),
    used("model", Head::Inherits, Form::Body(Holds::Profile)),
    bare("strict", Form::Bool),
    bare("significance", Form::Body(Holds::Significance)),
    bare("weakand", Form::Body(Holds::WeakAnd)),
    bare("filter-threshold", Form::Number),
    refused(
        "mutate",
        Head::Bare,
        Form::Body(Holds::Mutate),
        "queries do not change documents; update mutable attributes by documents",
    ),
    refused("properties", Head::Bare, Form::Properties, "its name is rank-properties"),
];

pub(super) static FUNCTION: [Spec; 1] = [bare("expression", Form::Expression)];

pub(super) static FIRST_PHASE: [Spec; 4] = [
    bare("expression", Form::Expression),
    bare("keep-rank-count", Form::Integer),
    bare("total-keep-rank-count", Form::Integer),
    bare("rank-score-drop-limit", Form::Number),
];

pub(super) static SECOND_PHASE: [Spec; 4] = [
    bare("expression", Form::Expression),
    bare("rerank-count", Form::Integer),
    bare("total-rerank-count", Form::Integer),
    bare("rank-score-drop-limit", Form::Number),
];

pub(super) static GLOBAL_PHASE: [Spec; 3] = [
    bare("expression", Form::Expression),
    bare("rerank-count", Form::Integer),
    bare("rank-score-drop-limit", Form::Number),
];

pub(super) static MATCH_PHASE: [Spec; 8] = [
    bare("attribute", Form::Word),
    bare("order", Form::Choice(&["ascending", "descending"])),
    bare("max-hits", Form::Integer),
    bare("total-max-hits", Form::Integer),
    bare("max-filter-coverage", Form::Number),
    bare("evaluation-point", Form::Number),
    bare("pre-post-filter-tipping-point", Form::Number),
    bare("diversity", Form::Body(Holds::Diversity)),
];

pub(super) static DIVERSITY: [Spec; 4] = [
    bare("attribute", Form::Word),
    bare("min-groups", Form::Integer),
    bare("cutoff-factor", Form::Number),
    bare("cutoff-strategy", Form::Choice(&["strict", "loose"])),
];

pub(super) static PROFILE_FIELD: [Spec; 3] =
    [flag("filter"), bare("filter-threshold", Form::Number), bare("element-gap", Form::Gap)];

pub(super) static MUTATE: [Spec; 4] = [
    bare("on-match", Form::Mutation),
    bare("on-first-phase", Form::Mutation),
    bare("on-second-phase", Form::Mutation),
    bare("on-summary", Form::Mutation),
];

pub(super) static SIGNIFICANCE: [Spec; 1] = [bare("use-model", Form::Bool)];

pub(super) static WEAK_AND: [Spec; 3] = [
    bare("stopword-limit", Form::Number),
    bare("adjust-target", Form::Number),
    bare("allow-drop-all", Form::Bool),
];
