//! Operators that compute with strings: they make them at run time, beside the arena.
#![allow(clippy::unwrap_used)] // a panic is the report

use stead_engine::{LoadError, LoadOptions, Model, RunError, Session, SessionOptions};
use stead_onnx::{AttributeValue, ModelBuilder};
use stead_tensor::{Bool, DType, Tensor};

fn load(model: ModelBuilder) -> Result<Session, LoadError> {
    let model = Model::from_onnx(model.build().unwrap(), &LoadOptions::default())?;
    Session::new(model, &SessionOptions::default())
}

fn strings(words: &[&str], dims: &[usize]) -> Tensor {
    Tensor::from_strings(words.iter().map(|word| word.as_bytes().to_vec()).collect(), dims).unwrap()
}

fn words(list: &[&str]) -> AttributeValue {
    AttributeValue::Strings(list.iter().map(|word| word.as_bytes().to_vec()).collect())
}

fn text(value: &str) -> AttributeValue {
    AttributeValue::String(value.as_bytes().to_vec())
}

fn run(session: &Session, x: &Tensor) -> Result<Vec<Tensor>, RunError> {
    session.run(&[("x", x.view())], &[])
}

/// Splits, whose result has a shape that only a run knows, joins, looks up and compares what was made.
fn chain() -> ModelBuilder {
    ModelBuilder::new(20)
        .import("ai.onnx.ml", 4)
        .input("x", DType::String, &["n"])
        .init("mark", strings(&["!"], &[]))
        .init("all", Tensor::from_slice(&[-1i64], &[1]).unwrap())
        .init("wanted", strings(&["b!"], &[1]))
        .node("StringSplit", &["x"], &["parts", "counts"])
        .attr("delimiter", text(" "))
        .node("StringConcat", &["parts", "mark"], &["marked"])
        .node("Reshape", &["marked", "all"], &["flat"])
        .node("LabelEncoder", &["flat"], &["numbers"])
        .domain("ai.onnx.ml")
        .attr("keys_strings", words(&["a!", "b!"]))
        .attr("values_int64s", AttributeValue::Ints(vec![10, 20]))
        .attr("default_int64", AttributeValue::Int(-5))
        .node("LabelEncoder", &["numbers"], &["names"])
        .domain("ai.onnx.ml")
        .attr("keys_int64s", AttributeValue::Ints(vec![10, 20]))
        .attr("values_strings", words(&["ten", "twenty"]))
        .node("Equal", &["flat", "wanted"], &["same"])
        .node("RegexFullMatch", &["flat"], &["matches"])
        .attr("pattern", text("[ab]!"))
        .output("marked", DType::String)
        .output("counts", DType::I64)
        .output("numbers", DType::I64)
        .output("names", DType::String)
        .output("same", DType::Bool)
        .output("matches", DType::Bool)
}

#[test]
fn names_and_numbers_are_mapped_either_way() {
    let node = |op: &str, version: i64, from: DType, to: DType| {
        ModelBuilder::new(20)
            .import("ai.onnx.ml", version)
            .input("x", from, &["n"])
            .node(op, &["x"], &["y"])
            .domain("ai.onnx.ml")
            .output("y", to)
    };
    let mapper = |from, to| {
        node("CategoryMapper", 1, from, to)
            .attr("cats_strings", words(&["cat", "dog"]))
            .attr("cats_int64s", AttributeValue::Ints(vec![7, 9]))
            .attr("default_int64", AttributeValue::Int(-3))
            .attr("default_string", text("none"))
    };
    let old = |from, to| {
        node("LabelEncoder", 1, from, to).attr("classes_strings", words(&["cat", "dog"]))
    };
    let ints = |list: &[i64]| Tensor::from_slice(list, &[list.len()]).unwrap();
    let names = strings(&["dog", "cow", "cat"], &[3]);
    for (label, builder, x, expected) in [
        ("names", mapper(DType::String, DType::I64), &names, ints(&[9, -3, 7])),
        (
            "numbers",
            mapper(DType::I64, DType::String),
            &ints(&[9, 8, 7]),
            strings(&["dog", "none", "cat"], &[3]),
        ),
        ("names of classes", old(DType::String, DType::I64), &names, ints(&[1, -1, 0])),
        (
            "numbers of classes",
            old(DType::I64, DType::String),
            &ints(&[1, 5, 0]),
            strings(&["dog", "_Unused", "cat"], &[3]),
        ),
    ] {
        let session = load(builder).unwrap_or_else(|error| panic!("{label}: {error}"));
        assert_eq!(run(&session, x).unwrap(), [expected], "{label}");
    }
    let apart =
        mapper(DType::I64, DType::String).attr("cats_int64s", AttributeValue::Ints(vec![1]));
    let error = load(apart).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("2 names for 1 numbers"), "{error}");
}

#[test]
fn strings_are_made_and_read_along_a_chain() {
    let session = load(chain()).unwrap();
    let truths = |list: &[u8]| {
        let list: Vec<Bool> = list.iter().map(|truth| Bool(*truth)).collect();
        Tensor::from_slice(&list, &[list.len()]).unwrap()
    };
    let ints = |list: &[i64]| Tensor::from_slice(list, &[list.len()]).unwrap();
    let first = (
        strings(&["a b", "c"], &[2]),
        [
            strings(&["a!", "b!", "c!", "!"], &[2, 2]),
            ints(&[2, 1]),
            ints(&[10, 20, -5, -5]),
            strings(&["ten", "twenty", "_Unused", "_Unused"], &[4]),
            truths(&[0, 1, 0, 0]),
            truths(&[1, 1, 0, 0]),
        ],
    );
    let second = (
        strings(&["b"], &[1]),
        [
            strings(&["b!"], &[1, 1]),
            ints(&[1]),
            ints(&[20]),
            strings(&["twenty"], &[1]),
            truths(&[1]),
            truths(&[1]),
        ],
    );
    let none = (
        strings(&[], &[0]),
        [strings(&[], &[0, 0]), ints(&[]), ints(&[]), strings(&[], &[0]), truths(&[]), truths(&[])],
    );
    // By turns, so that nothing of one run is found by another.
    for (x, expected) in [&first, &second, &first, &none, &second] {
        assert_eq!(run(&session, x).unwrap(), expected, "{x:?}");
    }
}

#[test]
fn a_loop_carries_strings_that_it_makes() {
    let body = ModelBuilder::new(20)
        .input("i", DType::I64, &[])
        .input("go", DType::Bool, &[])
        .input("s", DType::String, &["n"])
        .node("StringConcat", &["s", "s"], &["twice"])
        .node("Identity", &["go"], &["on"])
        .output("on", DType::Bool)
        .output("twice", DType::String)
        .graph();
    let model = ModelBuilder::new(20)
        .input("x", DType::String, &["n"])
        .init("count", Tensor::scalar(3i64).unwrap())
        .node("Loop", &["count", "", "x"], &["y"])
        .attr("body", AttributeValue::Graph(body))
        .output("y", DType::String);
    let session = load(model).unwrap();
    let y = run(&session, &strings(&["ab", ""], &[2])).unwrap();
    assert_eq!(y, [strings(&["abababababababab", ""], &[2])]);
}

#[test]
fn n_grams_of_words_are_counted_and_weighed() {
    let model = |mode: &str, skips: i64| {
        ModelBuilder::new(20)
            .input("x", DType::String, &["n", "c"])
            .node("TfIdfVectorizer", &["x"], &["y"])
            .attr("mode", text(mode))
            .attr("min_gram_length", AttributeValue::Int(1))
            .attr("max_gram_length", AttributeValue::Int(2))
            .attr("max_skip_count", AttributeValue::Int(skips))
            .attr("ngram_counts", AttributeValue::Ints(vec![0, 2]))
            .attr("ngram_indexes", AttributeValue::Ints(vec![0, 1, 3, 2]))
            .attr("pool_strings", words(&["a", "b", "a", "b", "b", "b"]))
            .attr("weights", AttributeValue::Floats(vec![0.5, 2.0, 3.0, 4.0]))
            .output("y", DType::F32)
    };
    let x = strings(&["a", "b", "z", "b", "b", "b", "b", "a"], &[2, 4]);
    let cases: [(&str, i64, [f32; 8]); 4] = [
        ("TF", 0, [1.0, 2.0, 0.0, 1.0, 1.0, 3.0, 2.0, 0.0]),
        ("TF", 1, [1.0, 2.0, 1.0, 1.0, 1.0, 3.0, 3.0, 0.0]),
        ("IDF", 0, [0.5, 2.0, 0.0, 4.0, 0.5, 2.0, 3.0, 0.0]),
        ("TFIDF", i64::MAX, [0.5, 4.0, 3.0, 8.0, 0.5, 6.0, 9.0, 0.0]),
    ];
    for (mode, skips, expected) in cases {
        let y = run(&load(model(mode, skips)).unwrap(), &x).unwrap();
        assert_eq!(y, [Tensor::from_slice(&expected, &[2, 4]).unwrap()], "{mode} {skips}");
    }
    let error = load(model("BM25", 0)).err().unwrap().to_string();
    assert!(error.contains("mode is \"BM25\"; supported: TF IDF TFIDF"), "{error}");
}

#[test]
fn words_are_left_out_and_their_case_changed() {
    let model = |is_case_sensitive: i64, locale: &str| {
        ModelBuilder::new(20)
            .input("x", DType::String, &["n"])
            .node("StringNormalizer", &["x"], &["y"])
            .attr("case_change_action", text("UPPER"))
            .attr("is_case_sensitive", AttributeValue::Int(is_case_sensitive))
            .attr("locale", text(locale))
            .attr("stopwords", words(&["monday"]))
            .output("y", DType::String)
    };
    let x = strings(&["Monday", "monday", "stra\u{df}e"], &[3]);
    for (sensitive, expected) in [(1, &["MONDAY", "STRASSE"][..]), (0, &["STRASSE"])] {
        let y = run(&load(model(sensitive, "en_US")).unwrap(), &x).unwrap();
        assert_eq!(y, [strings(expected, &[expected.len()])], "{sensitive}");
    }
    let none = run(&load(model(0, "")).unwrap(), &strings(&["monday"], &[1])).unwrap();
    assert_eq!(none, [strings(&[""], &[1])]);
    let error = load(model(0, "tr_TR")).err().unwrap().to_string();
    assert!(error.contains("locale is \"tr_TR\""), "{error}");
    let wrong = Tensor::from_strings(vec![b"\xff".to_vec()], &[1]).unwrap();
    let error = run(&load(model(0, "")).unwrap(), &wrong).unwrap_err().to_string();
    assert!(error.contains("no UTF-8"), "{error}");
}

#[test]
fn what_would_take_too_much_memory_is_an_error() {
    let model = ModelBuilder::new(20)
        .input("x", DType::String, &["n"])
        .init("many", strings(&[""; 2048], &[2048]))
        .node("StringConcat", &["x", "many"], &["y"])
        .output("y", DType::String);
    let session = load(model).unwrap();
    let long = Tensor::from_strings(vec![vec![b'a'; 1 << 20]], &[1]).unwrap();
    let error = run(&session, &long).unwrap_err().to_string();
    assert!(error.contains("at most 1073741824 bytes"), "{error}");
    assert_eq!(run(&session, &strings(&["a"], &[1])).unwrap(), [strings(&["a"; 2048], &[2048])]);
}

#[test]
fn strings_are_refused_where_the_standard_has_none() {
    let model = |opset: i64, op: &str| {
        ModelBuilder::new(opset)
            .input("x", DType::String, &["n"])
            .node(op, &["x", "x"], &["y"])
            .output("y", DType::Bool)
    };
    for (opset, op) in [(18, "Equal"), (20, "Less")] {
        let error = load(model(opset, op)).err().unwrap().to_string();
        assert!(error.contains(op) && error.contains("string"), "{error}");
    }
    assert!(load(model(19, "Equal")).is_ok());
}
