//! `generate`: a decoder alone, and one behind an encoder against a plain reference that reads everything again at each step.

use stead_onnx::{ModelBuilder, ValueType, dims_of};
use stead_search::result::Item;
use stead_tensor::{DType, Tensor};

use super::models::{hit, query, searched, searcher_with};
use super::*;

/// After `a` comes `b`, after `b` comes `c`, after `c` comes `a`, and the longer the text is the likelier it ends: only what the steps hand
/// on says how long it is. `a` is nearly as often followed by `c`.
fn decoder() -> Vec<u8> {
    let mut next = vec![0.0f32; 64];
    for (from, to, logit) in [(5, 6, 5.0), (6, 7, 5.0), (7, 5, 5.0), (5, 7, 4.9)] {
        next[from * 8 + to] = logit;
    }
    let mut end = vec![0.0f32; 8];
    end[3] = 0.9;
    let past = &["batch", "1", "seen", "1"];
    let present = ValueType::tensor(DType::F32, Some(dims_of(&["batch", "1", "all", "1"])));
    let logits = ValueType::tensor(DType::F32, Some(dims_of(&["batch", "tokens", "8"])));
    ModelBuilder::new(17)
        .input("input_ids", DType::I64, &["batch", "tokens"])
        .input("past_key_values.0.key", DType::F32, past)
        .init("next", Tensor::from_slice(&next, &[8, 8]).unwrap())
        .init("end", Tensor::from_slice(&end, &[8]).unwrap())
        .init("axes", Tensor::from_slice(&[1i64, 3], &[2]).unwrap())
        .init("sums", Tensor::from_slice(&[2i64, 3], &[2]).unwrap())
        .init("last", Tensor::from_slice(&[2i64], &[1]).unwrap())
        .init("zero", Tensor::from_slice(&[0.0f32], &[1]).unwrap())
        .init("one", Tensor::from_slice(&[1.0f32], &[1]).unwrap())
        .node("Gather", &["next", "input_ids"], &["likely"])
        .node("Cast", &["input_ids"], &["numbers"])
        .attr("to", 1)
        .node("Mul", &["numbers", "zero"], &["zeros"])
        .node("Add", &["zeros", "one"], &["ones"])
        .node("Unsqueeze", &["ones", "axes"], &["new"])
        .node("Concat", &["past_key_values.0.key", "new"], &["present.0.key"])
        .attr("axis", 2)
        .node("ReduceSum", &["present.0.key", "sums"], &["counts"])
        .attr("keepdims", 0)
        .node("Unsqueeze", &["counts", "last"], &["count"])
        .node("Mul", &["count", "end"], &["ending"])
        .node("Add", &["likely", "ending"], &["logits"])
        .output_of("logits", logits)
        .output_of("present.0.key", present)
        .bytes()
}

#[test]
fn texts_are_written_token_by_token() {
    let networks = [("writer", decoder())];
    let inner = |more: &str| {
        format!(
            "<model>writer</model><tokenizer path='models/vocab.txt'/><from>q</from><to>w</to><end-token>3</end-token>{more}"
        )
    };
    for (label, more, q, expected) in [
        ("until it ends", "", "a", "b c a b c"),
        ("a longer prompt", "", "a b c", "a b c"),
        ("with words around it", "<prompt>%{text} b</prompt>", "a", "c a b c"),
        ("no more than so many", "<max-new-tokens>2</max-new-tokens>", "a", "b c"),
        ("nothing of nothing", "", "", ""),
    ] {
        let searcher = searcher_with(&networks, "generate", &inner(more)).unwrap();
        let (_, asked) = searched(&*searcher, query(&[("q", q)]), vec![]).unwrap();
        assert_eq!(asked.values.get("w"), Some(expected), "{label}");
    }
    // Two beams find a text that is likelier as a whole, or the same.
    let greedy = searcher_with(&networks, "generate", &inner("<beams>1</beams>")).unwrap();
    let beams = searcher_with(&networks, "generate", &inner("<beams>3</beams>")).unwrap();
    let write = |searcher: &dyn Searcher| {
        let (_, asked) = searched(searcher, query(&[("q", "a")]), vec![]).unwrap();
        asked.values.get("w").unwrap_or_default().to_owned()
    };
    let (one, several) = (write(&*greedy), write(&*beams));
    assert!(likelihood(&several) >= likelihood(&one) - 1e-9, "{one}: {several}");
    // Of hits.
    let of_hits = inner("<of>hits</of>").replace("<from>q", "<from>title");
    let searcher = searcher_with(&networks, "generate", &of_hits).unwrap();
    let hits = vec![hit("x", vec![("title", Item::text("c"))]), hit("y", vec![])];
    let (result, _) = searched(&*searcher, query(&[]), hits).unwrap();
    assert_eq!(result.hits[0].get("w"), Some(&Item::text("a b c a b")));
    assert_eq!(result.hits[1].get("w"), None);
    for (more, expected) in [
        ("<beams>0</beams>", "beams must be from 1 to 64, found 0"),
        ("<logits>scores</logits>", "model writer has no output scores: logits"),
        ("<input-ids>ids</input-ids>", "model writer has no input ids: input-ids"),
        ("<encoder>reader</encoder>", "no model named 'reader'. Available models: writer"),
    ] {
        let told = searcher_with(&networks, "generate", &inner(more)).err();
        assert_eq!(told.as_deref(), Some(expected));
    }
}

/// The logarithm of the probability of a text behind `a` with its end, for each of its tokens.
fn likelihood(text: &str) -> f64 {
    let id = |word: &str| 5 + ["a", "b", "c"].iter().position(|known| *known == word).unwrap();
    let mut tokens: Vec<usize> = text.split(' ').map(id).collect();
    tokens.push(3);
    let (mut last, mut sum) = (5, 0.0);
    for (count, token) in tokens.iter().enumerate() {
        let mut logits = [0.0_f64; 8];
        for (from, to, logit) in [(5, 6, 5.0), (6, 7, 5.0), (7, 5, 5.0), (5, 7, 4.9)] {
            if from == last {
                logits[to] = logit;
            }
        }
        logits[3] = 0.9 * (count + 1) as f64;
        let all: f64 = logits.iter().map(|logit| logit.exp()).sum();
        sum += logits[*token] - all.ln();
        last = *token;
    }
    sum / tokens.len() as f64
}

/// How many numbers stand for a token.
const WIDTH: usize = 3;

/// The ids: [CLS] begins what is written, [SEP] ends it.
const START: usize = 2;
const END: usize = 3;

/// The ids of the vocabulary.
const IDS: usize = 8;

/// The places of tokens that the decoder knows.
const PLACES: usize = 16;

/// Numbers that look like chance and are always the same.
fn table(seed: f32, rows: usize, width: usize) -> Vec<Vec<f32>> {
    let cell = |row: usize, at: usize| {
        ((row as f32 + 1.0) * (at as f32 * 1.7 + 2.3) * seed + seed).sin() * 1.5
    };
    (0..rows).map(|row| (0..width).map(|at| cell(row, at)).collect()).collect()
}

fn of_table(seed: f32, rows: usize, width: usize) -> Tensor {
    Tensor::from_slice(&table(seed, rows, width).concat(), &[rows, width]).unwrap()
}

/// The seeds of its tables.
const SOURCE: f32 = 1.1;
const KEYS: f32 = 0.7;
const QUERIES: f32 = 2.9;
const POSITIONS: f32 = 3.7;
const LENGTHS: f32 = 0.3;
const WORDS_OF: f32 = 1.9;

fn floats(dims: &[&str]) -> ValueType {
    ValueType::tensor(DType::F32, Some(dims_of(dims)))
}

/// A vector for each token.
fn encoder() -> Vec<u8> {
    ModelBuilder::new(17)
        .input("input_ids", DType::I64, &["batch", "source"])
        .input("attention_mask", DType::I64, &["batch", "source"])
        .init("table", of_table(SOURCE, IDS, WIDTH))
        .init("last", Tensor::from_slice(&[2i64], &[1]).unwrap())
        .node("Gather", &["table", "input_ids"], &["vectors"])
        .node("Cast", &["attention_mask"], &["mask"])
        .attr("to", 1)
        .node("Unsqueeze", &["mask", "last"], &["each"])
        .node("Mul", &["vectors", "each"], &["last_hidden_state"])
        .output_of("last_hidden_state", floats(&["batch", "source", "3"]))
        .bytes()
}

/// What the next token is depends on all before it, on how many these are, on where it stands, and on the mean of what was read. With
/// `keeps` the tokens before come as keys of the steps before, else all are read at each step.
fn behind_encoder(keeps: bool) -> Vec<u8> {
    let axis = |at: i64| Tensor::from_slice(&[at], &[1]).unwrap();
    let mut model = ModelBuilder::new(17)
        .input("input_ids", DType::I64, &["batch", "tokens"])
        .input("attention_mask", DType::I64, &["batch", "all"])
        .input("position_ids", DType::I64, &["batch", "tokens"])
        .input("encoder_hidden_states", DType::F32, &["batch", "source", "3"])
        .input("encoder_attention_mask", DType::I64, &["batch", "source"]);
    if keeps {
        model = model.input("past_key_values.0.key", DType::F32, &["batch", "1", "seen", "3"]);
    }
    model = model
        .init("keys", of_table(KEYS, IDS, WIDTH))
        .init("queries", of_table(QUERIES, IDS, WIDTH))
        .init("places", of_table(POSITIONS, PLACES, WIDTH))
        .init("lengths", of_table(LENGTHS, 1, WIDTH))
        .init("words", of_table(WORDS_OF, WIDTH, IDS))
        .init("one", axis(1))
        .init("two", axis(2))
        .init("first", Tensor::from_slice(&[1i64], &[]).unwrap())
        .node("Gather", &["keys", "input_ids"], &["new"])
        .node("Cast", &["attention_mask"], &["mask"])
        .attr("to", 1);
    model = match keeps {
        true => model
            .node("Unsqueeze", &["new", "one"], &["of_head"])
            .node("Concat", &["past_key_values.0.key", "of_head"], &["present.0.key"])
            .attr("axis", 2)
            .node("ReduceSum", &["present.0.key", "two"], &["context"])
            .attr("keepdims", 0)
            .node("ReduceSum", &["mask", "one"], &["counts"]),
        false => model.node("CumSum", &["new", "first"], &["context"]).node(
            "CumSum",
            &["mask", "first"],
            &["counts"],
        ),
    };
    model = model
        .node("Unsqueeze", &["counts", "two"], &["count"])
        .node("Mul", &["count", "lengths"], &["long"])
        .node("Gather", &["queries", "input_ids"], &["asked"])
        .node("Gather", &["places", "position_ids"], &["placed"])
        .node("Cast", &["encoder_attention_mask"], &["read"])
        .attr("to", 1)
        .node("Unsqueeze", &["read", "two"], &["each"])
        .node("Mul", &["encoder_hidden_states", "each"], &["weighted"])
        .node("ReduceSum", &["weighted", "one"], &["sum"])
        .node("ReduceSum", &["each", "one"], &["number"])
        .node("Div", &["sum", "number"], &["crossed"])
        .node("Add", &["context", "long"], &["a"])
        .node("Add", &["a", "asked"], &["b"])
        .node("Add", &["b", "placed"], &["c"])
        .node("Add", &["c", "crossed"], &["d"])
        .node("Tanh", &["d"], &["hidden"])
        .node("MatMul", &["hidden", "words"], &["logits"])
        .output_of("logits", floats(&["batch", "tokens", "8"]));
    if keeps {
        model = model.output_of("present.0.key", floats(&["batch", "1", "all", "3"]));
    }
    model.bytes()
}

/// The logarithms of the probabilities of the next token behind these, which stand behind the start, by plain loops.
fn next(source: &[usize], tokens: &[usize]) -> Vec<f64> {
    let all: Vec<usize> = [START].iter().chain(tokens).copied().collect();
    let last = all[all.len() - 1];
    let (read, keys, asked) =
        (table(SOURCE, IDS, WIDTH), table(KEYS, IDS, WIDTH), table(QUERIES, IDS, WIDTH));
    let (places, lengths) = (table(POSITIONS, PLACES, WIDTH), table(LENGTHS, 1, WIDTH));
    let hidden: Vec<f64> = (0..WIDTH)
        .map(|at| {
            let context: f32 = all.iter().map(|id| keys[*id][at]).sum();
            let crossed = source.iter().map(|id| read[*id][at]).sum::<f32>() / source.len() as f32;
            let long = all.len() as f32 * lengths[0][at];
            f64::from(context + long + asked[last][at] + places[all.len() - 1][at] + crossed).tanh()
        })
        .collect();
    let words = table(WORDS_OF, WIDTH, IDS);
    let logits: Vec<f64> = (0..IDS)
        .map(|id| (0..WIDTH).map(|at| hidden[at] * f64::from(words[at][id])).sum())
        .collect();
    let sum = logits.iter().map(|logit: &f64| logit.exp()).sum::<f64>().ln();
    logits.into_iter().map(|logit| logit - sum).collect()
}

/// The likeliest token at each step, until the end or so many.
fn greedy(source: &[usize], most: usize) -> Vec<usize> {
    let mut tokens = Vec::new();
    while tokens.len() < most {
        let next = next(source, &tokens);
        let best = (0..IDS).max_by(|a, b| next[*a].total_cmp(&next[*b])).unwrap();
        if best == END {
            break;
        }
        tokens.push(best);
    }
    tokens
}

/// Beam search: the `count` best that go on at each step, until the best of those that have ended is as good as any that goes on, all
/// rated by their length with the end to this power.
fn best(source: &[usize], count: usize, most: usize, penalty: f64) -> Vec<usize> {
    let rated = |tokens: &[usize], score: f64| score / ((tokens.len() + 1) as f64).powf(penalty);
    let mut live: Vec<(Vec<usize>, f64)> = vec![(Vec::new(), 0.0)];
    let mut ended: Vec<(Vec<usize>, f64)> = Vec::new();
    for _ in 0..most {
        let mut all: Vec<(Vec<usize>, f64)> = Vec::new();
        for (tokens, score) in &live {
            for (id, more) in next(source, tokens).into_iter().enumerate() {
                all.push(([tokens.as_slice(), &[id]].concat(), score + more));
            }
        }
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        let goes_on = |one: &&(Vec<usize>, f64)| one.0.last() != Some(&END);
        live = all.iter().filter(goes_on).take(count).cloned().collect();
        // What ends counts as far as it is among the best.
        let least = live.last().map_or(f64::NEG_INFINITY, |(_, score)| *score);
        let of_end = all.into_iter().filter(|one| !goes_on(&one) && one.1 >= least);
        ended.extend(of_end.map(|(mut tokens, score)| {
            tokens.pop();
            (tokens, score)
        }));
        let top = |list: &[(Vec<usize>, f64)]| {
            list.iter().map(|(t, s)| rated(t, *s)).fold(f64::NEG_INFINITY, f64::max)
        };
        if !ended.is_empty() && top(&ended) >= top(&live) {
            break;
        }
    }
    let of = if ended.is_empty() { live } else { ended };
    of.into_iter().max_by(|a, b| rated(&a.0, a.1).total_cmp(&rated(&b.0, b.1))).unwrap().0
}

/// The most probable of all texts of up to `most` tokens with their end.
fn most_probable(source: &[usize], most: usize) -> Vec<usize> {
    let mut found: (Vec<usize>, f64) = (Vec::new(), f64::NEG_INFINITY);
    let mut open: Vec<(Vec<usize>, f64)> = vec![(Vec::new(), 0.0)];
    while let Some((tokens, score)) = open.pop() {
        for (id, more) in next(source, &tokens).into_iter().enumerate() {
            match id {
                END if score + more > found.1 => found = (tokens.clone(), score + more),
                END => {}
                _ if tokens.len() < most => {
                    open.push(([tokens.as_slice(), &[id]].concat(), score + more));
                }
                _ => {}
            }
        }
    }
    found.0
}

/// Words of the vocabulary, which is their ids in their order.
fn text(ids: &[usize]) -> String {
    let words: Vec<&str> = super::models::WORDS.lines().collect();
    ids.iter().map(|id| words[*id]).collect::<Vec<_>>().join(" ")
}

#[test]
fn what_an_encoder_read_is_written_as_by_a_reference() {
    let networks = [
        ("reads", encoder()),
        ("writes", behind_encoder(true)),
        ("writes_again", behind_encoder(false)),
    ];
    let written = |model: &str, more: &str, q: &str| {
        let inner = format!(
            "<model>{model}</model><encoder>reads</encoder><start-token>2</start-token><end-token>3</end-token>
             <tokenizer path='models/vocab.txt'/><from>q</from><to>w</to>{more}"
        );
        let searcher = searcher_with(&networks, "generate", &inner).unwrap();
        let (_, asked) = searched(&*searcher, query(&[("q", q)]), vec![]).unwrap();
        asked.values.get("w").unwrap().to_owned()
    };
    let beams = |count: usize, most: usize, penalty: f64| {
        format!(
            "<beams>{count}</beams><max-new-tokens>{most}</max-new-tokens><length-penalty>{penalty}</length-penalty>"
        )
    };
    let mut different = std::collections::BTreeSet::new();
    for source in [&[5][..], &[6], &[7], &[5, 6], &[7, 7, 5], &[6, 5, 7, 6]] {
        let q = text(source);
        let plain = written("writes", "<max-new-tokens>9</max-new-tokens>", &q);
        assert_eq!(plain, shown(&greedy(source, 9)), "greedy of {q}");
        different.insert(plain.clone());
        let again = written("writes_again", "<max-new-tokens>9</max-new-tokens>", &q);
        assert_eq!(plain, again, "keys of the steps before, and all read again, of {q}");
        for (count, most, penalty) in [(2, 9, 1.0), (3, 6, 0.6), (4, 5, 0.0)] {
            let more = beams(count, most, penalty);
            let expected = shown(&best(source, count, most, penalty));
            assert_eq!(written("writes", &more, &q), expected, "{count} beams of {q}");
            assert_eq!(written("writes_again", &more, &q), expected, "{count} beams of {q} again");
            different.insert(expected);
        }
        // As many beams as there are texts find the best of them.
        let all = written("writes", &beams(64, 3, 0.0), &q);
        assert_eq!(all, shown(&most_probable(source, 2)), "all texts of {q}");
    }
    assert!(different.len() > 4, "what is written depends on what was read: {different:?}");
}

/// A text as the tokenizer writes these ids.
fn shown(ids: &[usize]) -> String {
    let ids: Vec<u32> = ids.iter().map(|id| *id as u32).collect();
    let tokenizer = stead_embed::Tokenizer::from_vocabulary(
        super::models::WORDS,
        stead_embed::Settings {
            specials: stead_embed::Specials::None,
            cut: stead_embed::Cut::Never,
        },
    );
    tokenizer.unwrap().decode(&ids).unwrap()
}
