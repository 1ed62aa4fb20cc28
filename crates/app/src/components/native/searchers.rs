//! The searchers that are built in.

use super::ParameterKind::{Bool, Choice, Count, File, List, Map, Number, Rules, Text};
use super::rows::{may, must, row};
use super::{BuiltIn, BuiltInParameter};

/// A rule of `boost`.
#[rustfmt::skip]
const BOOST: &[BuiltInParameter] = &[
    may("field", Text, "", "a field of hits"),
    may("equals", Text, "", "hits whose field has this value, or has it among its elements"),
    may("at-least", Number, "", "hits whose field is a number from this on"),
    may("at-most", Number, "", "hits whose field is a number up to this"),
    may("when", Text, "", "`name=value`: only for queries with this parameter"),
    may("factor", Number, "1", "what relevance is multiplied by"),
    may("add", Number, "0", "what is added to it then"),
    may("drop", Bool, "false", "hits are left out"),
];

/// A rule of `rewrite`.
#[rustfmt::skip]
const REWRITE: &[BuiltInParameter] = &[
    must("when", Text, "what the parameter must be; `*` stands for any characters"),
    may("set", Map, "", "parameters by their names, in which `%{name}` stands for others"),
];

/// All of them.
#[rustfmt::skip]
pub(super) static SEARCHERS: &[BuiltIn] = &[
    row("rewrite", &[
        must("parameter", Text, "the parameter that is looked at"),
        must("rules", Rules(REWRITE), "the table; the first rule that fits counts"),
        may("ignore-case", Bool, "true", "whether capitals make no difference"),
    ], "changes queries by a table", "a parameter of the query", "parameters"),
    row("deduplicate", &[
        must("fields", List, "hits are the same whose fields are; one without a field is like no other"),
        may("more", Count, "2", "the back end is asked for so many times the hits that the query wants"),
    ], "leaves out hits that are like a better one", "fields of hits", "hits"),
    row("collapse", &[
        must("field", Text, "the field, or several with commas between; a query may say others by `collapsefield`"),
        may("size", Count, "1", "the hits that stay for each value; a query may say `collapsesize`, and `collapsesize.FIELD` of one field"),
        may("more", Count, "2", "the back end is asked for so many times the hits that the query wants"),
    ], "keeps some hits for each value of a field", "a field of hits", "hits"),
    row("boost", &[
        must("rules", Rules(BOOST), "each is done, in its order"),
        may("more", Count, "1", "the back end is asked for so many times the hits that the query wants"),
    ], "changes relevance by rules", "fields of hits, parameters of the query", "the relevance and the order of hits"),
    row("blend", &[
        must("sources", List, "clusters or schemas, each searched for itself"),
        may("rule", Choice(&["score", "interleave", "normalised", "reciprocal-rank"]), "score",
            "by relevance; in turns; by relevance between the worst hit, 0, and the best hit, 1, of each source; by the sum of weight / (60 + rank)"),
        may("weights", Map, "", "what relevance is multiplied by, by sources"),
        may("profiles", Map, "", "rank profiles by sources"),
    ], "searches sources at the same time, each for itself, and blends their hits", "the query", "the relevance and the order of hits"),
    row("tokenise", &[
        must("tokenizer", File, "a `tokenizer.json`, or a `vocab.txt` of BERT"),
        must("parameter", Text, "the parameter with the text"),
        must("to", Text, "the query tensor `tensor<float>(d0[n])` that the ids become"),
        may("size", Count, "0", "how many cells it has, with zeros behind the ids; as many as ids with 0"),
        may("max-tokens", Count, "512", "the tokens of a text are cut to so many"),
        may("specials", Bool, "false", "whether the tokens around texts are among them"),
    ], "makes token ids of a text", "a parameter of the query", "a query tensor"),
    row("model", &[
        must("model", Text, "a model of `model-evaluation` by its name"),
        must("inputs", Map, "for each input an expression of `query(name)`"),
        must("outputs", Map, "for each query tensor an expression of `output(name)`, whose axes are `d0`, `d1`, ..."),
        may("types", Map, "", "the types of `query(name)` that inputs read; others are numbers"),
    ], "evaluates a model; queries without a tensor that an input reads go on as they are", "query tensors", "query tensors"),
    row("cross-encoder", &[
        must("model", Text, "a model of `model-evaluation` by its name"),
        must("tokenizer", File, "a `tokenizer.json`, or a `vocab.txt` of BERT"),
        must("parameter", Text, "the parameter with the text of the query; queries without it go on as they are"),
        must("field", Text, "the field of hits with a text, or with token ids as a dense tensor"),
        may("hits", Count, "20", "so many hits are read, in one batch; others stay behind them"),
        may("max-tokens", Count, "512", "the tokens of query and text together, with those around them"),
        may("transformer-input-ids", Text, "input_ids", "an input of the model"),
        may("transformer-attention-mask", Text, "attention_mask", "an input of the model, if it has it"),
        may("transformer-token-type-ids", Text, "token_type_ids", "an input of the model, if it has it"),
        may("transformer-output", Text, "", "the output with a row for each hit; the first of the model without it"),
        may("column", Count, "0", "the number in the row that is the relevance"),
        may("start-token", Count, "101", "the id before the query"),
        may("end-token", Count, "102", "the id behind the query, and behind the text"),
    ], "has a model read the query with each hit", "a parameter of the query, a field of hits", "the relevance and the order of hits"),
    row("pairwise-rank", &[
        must("model", Text, "a model of `model-evaluation` by its name"),
        must("inputs", Map, "for each input `query(name)`, `first(field)` or `second(field)`: a row for each pair of hits"),
        may("types", Map, "", "the types of the query tensors"),
        may("output", Text, "", "the output with a number for each pair; the first of the model without it"),
        may("rule", Choice(&["wins", "sum"]), "wins", "relevance is how often a hit is above the mean of all pairs, or the sum of its numbers"),
        may("hits", Count, "20", "so many hits are compared; others stay behind them"),
    ], "has a model compare every two hits", "query tensors, fields of hits", "the relevance and the order of hits"),
    row("answer-span", &[
        must("tokenizer", File, "the tokenizer of the model"),
        must("field", Text, "the field of hits with the text"),
        must("start", Text, "the feature of hits with the logits of starts, of `summary-features` or `match-features`"),
        must("end", Text, "that with the logits of ends"),
        may("query", Text, "", "the query tensor with the tokens that stand before the text, as in `tokenInputIds`"),
        may("longest", Count, "30", "the most tokens of an answer"),
        may("max-tokens", Count, "512", "the tokens of a text are cut to so many"),
        may("to", Text, "answer", "the field of hits that the answer becomes"),
        may("score-to", Text, "answer_score", "the field with the sum of its two logits"),
        may("rank", Bool, "false", "whether hits are ordered by this"),
    ], "finds the words that a reader points at", "a field and features of hits", "fields of hits, with `rank` their order"),
    row("detokenise", &[
        must("tokenizer", File, "a `tokenizer.json`, or a `vocab.txt` of BERT"),
        must("from", Text, "a field or feature of hits with token ids; a tensor ends at its zeros"),
        must("to", Text, "the field that the text becomes"),
    ], "makes texts of token ids", "a field of hits", "a field of hits"),
    row("generate", &[
        must("model", Text, "a decoder of `model-evaluation`; inputs `past..` are fed with the outputs `present..` of the step before"),
        must("tokenizer", File, "the tokenizer of what is read"),
        may("target-tokenizer", File, "", "that of what is written, where it is another one"),
        may("of", Choice(&["query", "hits"]), "query", "whether a parameter is read or a field of hits"),
        must("from", Text, "the parameter or field that is read"),
        must("to", Text, "the parameter or field that is written"),
        may("prompt", Text, "%{text}", "what is read, with the text in it"),
        may("beams", Count, "1", "the sequences that go on at each step; with 1 the likeliest token is taken"),
        may("length-penalty", Number, "1", "the power of the length that scores of sequences are divided by"),
        may("max-new-tokens", Count, "64", "the most tokens that are written"),
        may("max-tokens", Count, "512", "the tokens that are read are cut to so many"),
        may("specials", Bool, "false", "whether the tokens around texts are read too"),
        must("end-token", Count, "the id that ends a text"),
        may("encoder", Text, "", "an encoder, whose first output the decoder reads"),
        may("start-token", Count, "0", "the id that a decoder behind an encoder begins with"),
        may("input-ids", Text, "input_ids", "an input of the model, and of the encoder"),
        may("attention-mask", Text, "attention_mask", "an input, if it is there"),
        may("position-ids", Text, "position_ids", "an input, if it is there"),
        may("encoder-states", Text, "encoder_hidden_states", "the input with what the encoder gave"),
        may("encoder-mask", Text, "encoder_attention_mask", "an input, if it is there"),
        may("logits", Text, "logits", "the output with a number for each token"),
    ], "has a model write texts, token by token", "a parameter of the query, or a field of hits", "another one"),
];
