//! The document processors that are built in.

use super::ParameterKind::{Bool, Choice, Count, File, List, Map, Text};
use super::rows::{may, must, row};
use super::{BuiltIn, BuiltInParameter};

const TYPES: BuiltInParameter =
    may("documents", List, "", "the types of documents; without it all that have the fields");

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
    row("embed", &[
        may("embedder", Text, "", "the id of an embedder; without it the only one there is"),
        must("from", List, "the field with the text, `string` or `array<string>`, or several `string` that are one text"),
        must("to", Text, "the field with the tensor, of a type that the embedder makes of texts of documents"),
        may("separator", Text, " ", "what stands between the texts of several fields"),
        may("dimension", Text, "", "the dimension of the texts of an `array<string>`, where the tensor has two mapped ones"), TYPES,
    ], "makes tensors of texts, of all operations that wait in one go", "fields of puts, and of updates that assign all of them", "another field; it is empty where the text is"),
    row("model", &[
        must("model", Text, "a model of `model-evaluation` by its name"),
        must("inputs", Map, "for each input an expression of `field(name)`"),
        must("outputs", Map, "for each field an expression of `output(name)`, whose axes are `d0`, `d1`, ..."), TYPES,
    ], "evaluates a model", "fields of puts, and of updates that assign all of them", "other fields"),
];
