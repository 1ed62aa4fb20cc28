//! The document processors that are built in.

use super::ParameterKind::{self, Bool, Choice, Count, File, List, Map, Text};
use super::{BuiltIn, BuiltInParameter};
use crate::components::ChainKind;

pub(super) const fn must(
    name: &'static str,
    kind: ParameterKind,
    about: &'static str,
) -> BuiltInParameter {
    BuiltInParameter { name, kind, default: None, about }
}

pub(super) const fn may(
    name: &'static str,
    kind: ParameterKind,
    default: &'static str,
    about: &'static str,
) -> BuiltInParameter {
    BuiltInParameter { name, kind, default: Some(default), about }
}

const TYPES: BuiltInParameter =
    may("documents", List, "", "the types of documents; without it all that have the fields");

const fn row(
    name: &'static str,
    parameters: &'static [BuiltInParameter],
    about: &'static str,
    reads: &'static str,
    writes: &'static str,
) -> BuiltIn {
    BuiltIn { name, kind: ChainKind::DocumentProcessing, parameters, about, reads, writes }
}

/// All of them.
#[rustfmt::skip]
pub(super) static PROCESSORS: &[BuiltIn] = &[
    row("copy", &[
        must("fields", Map, "the field that each field is written to, by its own name"), TYPES,
    ], "copies fields", "fields of puts, and what updates assign to them", "other fields of the same type"),
    row("rename", &[
        must("fields", Map, "the field that each field becomes, by its own name"), TYPES,
    ], "moves fields", "fields of puts, and what updates assign to them", "other fields of the same type; its own are empty then"),
    row("constant", &[
        must("fields", Map, "values by fields, as JSON of the type of the field; a text may stand as it is"),
        may("when", Choice(&["missing", "always"]), "missing", "whether values that are there are replaced"), TYPES,
    ], "gives fields a value", "fields of puts", "these fields"),
    row("tokenise", &[
        must("tokenizer", File, "a `tokenizer.json`, or a `vocab.txt` of BERT"),
        must("from", Text, "a field of texts"),
        must("to", Text, "a field `tensor<t>(d[n])` or `array<int>`"),
        may("max-tokens", Count, "512", "the tokens of a text are cut to so many"),
        may("specials", Bool, "false", "whether the tokens around texts are among them"), TYPES,
    ], "makes token ids of texts", "a field of puts, and what updates assign to it", "another field; a tensor ends with zeros"),
    row("model", &[
        must("model", Text, "a model of `model-evaluation` by its name"),
        must("inputs", Map, "for each input an expression of `field(name)`"),
        must("outputs", Map, "for each field an expression of `output(name)`, whose axes are `d0`, `d1`, ..."), TYPES,
    ], "evaluates a model", "fields of puts, and of updates that assign all of them", "other fields"),
];
