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

/// In the order of their bytes, or in that in which they come; along an axis whole rows are compared.
#[test]
fn different_strings_are_found() {
    let int = AttributeValue::Int;
    let ints = |list: &[i64]| Tensor::from_slice(list, &[list.len()]).unwrap();
    let model = |attributes: Vec<(&str, AttributeValue)>| {
        let node = ModelBuilder::new(20)
            .input_of("x", stead_onnx::ValueType::tensor(DType::String, None))
            .node("Unique", &["x"], &["y", "first", "inverse", "counts"]);
        let node = attributes.into_iter().fold(node, |node, (name, value)| node.attr(name, value));
        node.output("y", DType::String)
            .output("first", DType::I64)
            .output("inverse", DType::I64)
            .output("counts", DType::I64)
    };
    let pairs = strings(&["b", "a", "a", "c", "b", "a", "a", "b"], &[4, 2]);
    let cases = [
        (
            "sorted",
            vec![],
            strings(&["b", "", "ab", "b", "\u{e9}", ""], &[6]),
            [
                strings(&["", "ab", "b", "\u{e9}"], &[4]),
                ints(&[1, 2, 0, 4]),
                ints(&[2, 0, 1, 2, 3, 0]),
                ints(&[2, 1, 2, 1]),
            ],
        ),
        (
            "as they come",
            vec![("sorted", int(0))],
            strings(&["b", "a", "b", "c"], &[2, 2]),
            [
                strings(&["b", "a", "c"], &[3]),
                ints(&[0, 1, 3]),
                ints(&[0, 1, 0, 2]),
                ints(&[2, 1, 1]),
            ],
        ),
        (
            "rows",
            vec![("axis", int(0))],
            pairs,
            [
                strings(&["a", "b", "a", "c", "b", "a"], &[3, 2]),
                ints(&[3, 1, 0]),
                ints(&[2, 1, 2, 0]),
                ints(&[1, 1, 2]),
            ],
        ),
        ("none", vec![], strings(&[], &[0]), [strings(&[], &[0]), ints(&[]), ints(&[]), ints(&[])]),
    ];
    for (label, attributes, x, expected) in cases {
        let session = load(model(attributes)).unwrap();
        // Twice, so that plans are found again.
        for _ in 0..2 {
            assert_eq!(run(&session, &x).unwrap(), expected, "{label}");
        }
    }
}

#[test]
fn strings_are_moved_like_numbers() {
    let ints = |list: &[i64], dims: &[usize]| Tensor::from_slice(list, dims).unwrap();
    let truths = Tensor::from_slice(&[Bool(1), Bool(0)], &[2]).unwrap();
    let x = strings(&["a", "b", "c", "d", "e", "f"], &[2, 3]);
    let int = AttributeValue::Int;
    let cases: Vec<(&str, &str, Vec<(&str, Tensor)>, Vec<(&str, AttributeValue)>, Tensor)> = vec![
        (
            "rows",
            "Gather",
            vec![("i", ints(&[1, 0, 1], &[3]))],
            vec![],
            strings(&["d", "e", "f", "a", "b", "c", "d", "e", "f"], &[3, 3]),
        ),
        (
            "columns",
            "Gather",
            vec![("i", ints(&[-1], &[]))],
            vec![("axis", int(1))],
            strings(&["c", "f"], &[2]),
        ),
        (
            "elements",
            "GatherElements",
            vec![("i", ints(&[2, 0], &[2, 1]))],
            vec![("axis", int(1))],
            strings(&["c", "d"], &[2, 1]),
        ),
        (
            "places",
            "GatherND",
            vec![("i", ints(&[1, 1, 0, 2], &[2, 2]))],
            vec![],
            strings(&["e", "c"], &[2]),
        ),
        (
            "side by side",
            "Concat",
            vec![("o", strings(&["x", "y"], &[2, 1]))],
            vec![("axis", int(1))],
            strings(&["a", "b", "c", "x", "d", "e", "f", "y"], &[2, 4]),
        ),
        (
            "a part",
            "Slice",
            vec![("s", ints(&[2, 0], &[2])), ("e", ints(&[-9, 2], &[2]))],
            vec![],
            strings(&[], &[0, 2]),
        ),
        (
            "backwards",
            "Slice",
            vec![
                ("s", ints(&[2], &[1])),
                ("e", ints(&[-9], &[1])),
                ("x1", ints(&[1], &[1])),
                ("t", ints(&[-1], &[1])),
            ],
            vec![],
            strings(&["c", "b", "a", "f", "e", "d"], &[2, 3]),
        ),
        (
            "turned",
            "Transpose",
            vec![],
            vec![("perm", AttributeValue::Ints(vec![1, 0]))],
            strings(&["a", "d", "b", "e", "c", "f"], &[3, 2]),
        ),
        (
            "repeated",
            "Tile",
            vec![("r", ints(&[1, 2], &[2]))],
            vec![],
            strings(&["a", "b", "c", "a", "b", "c", "d", "e", "f", "d", "e", "f"], &[2, 6]),
        ),
        (
            "widened",
            "Expand",
            vec![("s", ints(&[1, 1, 1], &[3]))],
            vec![],
            strings(&["a", "b", "c", "d", "e", "f"], &[1, 2, 3]),
        ),
        (
            "chosen rows",
            "Compress",
            vec![("c", truths)],
            vec![("axis", int(0))],
            strings(&["a", "b", "c"], &[1, 3]),
        ),
        (
            "with nothing around",
            "Pad",
            vec![("p", ints(&[0, 1, 0, 0], &[4]))],
            vec![],
            strings(&["", "a", "b", "c", "", "d", "e", "f"], &[2, 4]),
        ),
        (
            "with something around",
            "Pad",
            vec![("p", ints(&[0, 0, 0, 1], &[4])), ("v", strings(&["-"], &[]))],
            vec![],
            strings(&["a", "b", "c", "-", "d", "e", "f", "-"], &[2, 4]),
        ),
        (
            "put",
            "ScatterElements",
            vec![("i", ints(&[1], &[1, 1])), ("u", strings(&["z"], &[1, 1]))],
            vec![],
            strings(&["a", "b", "c", "z", "e", "f"], &[2, 3]),
        ),
        (
            "put at places",
            "ScatterND",
            vec![("i", ints(&[0, 2], &[1, 2])), ("u", strings(&["z"], &[1]))],
            vec![],
            strings(&["a", "b", "z", "d", "e", "f"], &[2, 3]),
        ),
    ];
    for (label, op, others, attributes, expected) in cases {
        // What else it takes is known when the model is loaded, or when it runs.
        for is_constant in [true, false] {
            let mut builder = ModelBuilder::new(18).input("x", DType::String, &["n", "m"]);
            let mut names = vec!["x"];
            let mut feeds = vec![("x", x.view())];
            for (name, tensor) in &others {
                names.push(name);
                if is_constant {
                    builder = builder.init(name, tensor.clone());
                } else {
                    let dims: Vec<String> = tensor.shape().iter().map(usize::to_string).collect();
                    let dims: Vec<&str> = dims.iter().map(String::as_str).collect();
                    builder = builder.input(name, tensor.dtype(), &dims);
                    feeds.push((name, tensor.view()));
                }
            }
            builder = builder.node(op, &names, &["y"]);
            for (name, value) in &attributes {
                builder = builder.attr(name, value.clone());
            }
            let session = load(builder.output("y", DType::String))
                .unwrap_or_else(|error| panic!("{label}: {error}"));
            assert_eq!(
                session.run(&feeds, &[]).unwrap(),
                std::slice::from_ref(&expected),
                "{label}"
            );
        }
    }
}

#[test]
fn strings_are_chosen_split_and_cast() {
    let builder = ModelBuilder::new(20)
        .input("x", DType::String, &["n"])
        .init("none", strings(&["0"], &[]))
        .init("empty", strings(&[""], &[]))
        .node("Equal", &["x", "empty"], &["is_empty"])
        .node("Where", &["is_empty", "none", "x"], &["filled"])
        .node("Cast", &["filled"], &["numbers"])
        .attr("to", AttributeValue::Int(DType::F32.onnx_number().into()))
        .node("Neg", &["numbers"], &["negative"])
        .node("CastLike", &["negative", "x"], &["written"])
        .node("Split", &["written"], &["first", "second"])
        .attr("num_outputs", AttributeValue::Int(2))
        .output("first", DType::String)
        .output("second", DType::String);
    let session = load(builder).unwrap();
    let x = strings(&["1.5", "", "-1e20"], &[3]);
    assert_eq!(
        run(&session, &x).unwrap(),
        [strings(&["-1.5", "-0.0"], &[2]), strings(&["1e+20"], &[1])]
    );
    let error = run(&session, &strings(&["two"], &[1])).unwrap_err().to_string();
    assert!(error.contains("\"two\" is not a number of this type"), "{error}");
    let sum = ModelBuilder::new(18)
        .input("x", DType::String, &["n"])
        .init("i", Tensor::from_slice(&[0i64], &[1]).unwrap())
        .node("ScatterElements", &["x", "i", "x"], &["y"])
        .attr("reduction", text("add"))
        .output("y", DType::String);
    let error = load(sum).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("a reduction of strings; supported: none"), "{error}");
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
