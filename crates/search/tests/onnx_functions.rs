//! ONNX models as rank functions give what ONNX Runtime gives.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;

use serde_json::Value as Json;
use stead_expr::{Attribute, Cells, Numbers, Stored, Value, parse_type};
use stead_search::Serial;
use stead_search::models::{Column, Documents, Given, ModelError, ModelFunction, Scratch, Texts};

use crate::harness::{Package, value};

fn recorded(name: &str) -> Json {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/onnx/recorded.json");
    let cases: Json = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let case = cases.as_array().unwrap().iter().find(|case| case["model"] == name);
    case.unwrap().clone()
}

fn network(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/onnx");
    fs::read(folder.join(format!("{name}.onnx"))).unwrap()
}

/// All numbers of nested lists.
fn flat(json: &Json) -> Vec<f64> {
    match json {
        Json::Array(list) => list.iter().flat_map(flat).collect(),
        number => vec![number.as_f64().unwrap()],
    }
}

/// A package whose profile is nothing but an ONNX model and the sum of an output.
fn package(name: &str, fields: &[(&str, &str)], model: &str, rest: &str, output: &str) -> Package {
    let profile = format!(
        "onnx-model m {{\n file: files/m.onnx\n{model}\n}}\n{rest}\nfirst-phase {{ expression: sum(onnx(m){output}) }}"
    );
    Package::new(fields, &profile, &[("files/m.onnx", &network(name))])
}

fn dense(kind: &str, numbers: &[f64]) -> Stored {
    let kind = parse_type(kind).unwrap();
    let cells = Cells::from_numbers(kind.cell(), numbers);
    Stored::dense(kind, cells).unwrap()
}

fn run(
    model: &ModelFunction,
    given: &[Given<'_>],
    columns: &[Column<'_>],
    count: usize,
) -> Result<Vec<Stored>, ModelError> {
    let documents = Documents { count, index: None, columns };
    model.for_query(given)?.run(&documents, &mut Scratch::default())
}

fn cells(stored: &Stored) -> Vec<f64> {
    stored.values().iter().flat_map(|v| v.cells().doubles().into_owned()).collect()
}

#[test]
fn every_element_type_comes_in_and_goes_out() {
    for (name, from, to) in [
        ("float", "double", "float"),
        ("float", "float", "float"),
        ("double", "double", "double"),
        ("float16", "double", "float"),
        ("float16", "float", "float"),
        ("bfloat16", "double", "bfloat16"),
        ("bfloat16", "bfloat16", "bfloat16"),
        ("int8", "double", "int8"),
        ("int8", "int8", "int8"),
        ("int16", "double", "float"),
        ("int32", "double", "double"),
        ("int64", "double", "double"),
        ("uint8", "float", "float"),
        ("uint16", "float", "float"),
        ("uint32", "double", "double"),
        ("uint64", "double", "double"),
        ("bool", "int8", "float"),
    ] {
        let case = recorded(name);
        let kind = format!("tensor<{from}>(d0[1],d1[3])");
        let package =
            package(name, &[("x", &kind)], "input x: attribute(x)\noutput y: out", "", ".out");
        let model = package.model().unwrap();
        assert_eq!(model.explain(), ["onnx(m): up to 256 documents a run"], "{name}");
        let output = &model.outputs()[0];
        let expected = parse_type(&format!("tensor<{to}>(d0[1],d1[4])")).unwrap();
        assert_eq!((output.feature.as_str(), &output.kind), ("onnx(m).out", &expected), "{name}");
        let stored = dense(&kind, &flat(&case["x"]));
        let columns = [Column::Cells(stored.attribute())];
        let all = run(&model, &[], &columns, 3).unwrap();
        assert_eq!(cells(&all[0]), flat(&case["y"]), "{name} from {from}");
        // In another order, and one alone.
        let bound = model.for_query(&[]).unwrap();
        for index in [&[2_u32, 0][..], &[1]] {
            let documents = Documents { count: index.len(), index: Some(index), columns: &columns };
            let some = bound.run(&documents, &mut Scratch::default()).unwrap();
            let whole = all[0].values();
            let chosen: Vec<Value> = index.iter().map(|at| whole[*at as usize].clone()).collect();
            assert_eq!(some[0].values(), chosen, "{name} from {from}");
        }
    }
}

/// The networks give 5 and the three elements in another order.
#[test]
fn elements_are_cells_of_their_own_type_if_the_package_says_so() {
    for (name, cell, [a, b, c]) in [
        ("float16", "float16", ["0.099975586", "-2.5", "65504"]),
        ("int16", "int16", ["-32768", "32767", "7"]),
        ("int32", "int32", ["-2147483648", "2147483647", "16777217"]),
        ("int64", "int64", ["-9223372036854775808", "9223372036854775807", "9007199254740993"]),
        ("uint8", "uint8", ["255", "128", "0"]),
        ("bool", "bool", ["1", "0", "1"]),
        ("uint16", "int32", ["65535", "0", "1"]),
        ("uint32", "int64", ["4294967295", "0", "1"]),
        ("uint64", "int64", ["9223372036854775807", "0", "1"]),
        ("double", "double", ["0.1", "-1", "1e300"]),
    ] {
        let kind = format!("tensor<{cell}>(d0[1],d1[3])");
        let rest = "rank-properties { onnx(m).cells: own }";
        let package =
            package(name, &[("x", &kind)], "input x: attribute(x)\noutput y: out", rest, ".out");
        let model = package.model().unwrap();
        let output = model.outputs()[0].kind.to_string();
        let outward = parse_type(&format!("tensor<{cell}>(d0[1],d1[4])")).unwrap();
        assert_eq!(output, outward.to_string(), "{name}");
        let mut stored = Stored::new(parse_type(&kind).unwrap());
        for _ in 0..2 {
            assert!(stored.push(&value(&format!("{kind}:[{a},{b},{c}]"))));
        }
        let found = run(&model, &[], &[Column::Cells(stored.attribute())], 2).unwrap();
        let five = if cell == "bool" { "1" } else { "5" };
        let expected = value(&format!("{outward}:[{five},{c},{a},{b}]"));
        assert_eq!(found[0].values(), [expected.clone(), expected], "{name}");
    }
    // As Vespa has it, an identifier must be a double.
    let kind = "tensor<int64>(d0[1],d1[3])";
    let package =
        package("int64", &[("x", kind)], "input x: attribute(x)\noutput y: out", "", ".out");
    let model = package.model().unwrap();
    assert_eq!(model.outputs()[0].kind.to_string(), "tensor(d0[1],d1[4])");
    let mut stored = Stored::new(parse_type(kind).unwrap());
    assert!(stored.push(&value(&format!("{kind}:[1,2,9007199254740993]"))));
    let error = run(&model, &[], &[Column::Cells(stored.attribute())], 1).unwrap_err();
    assert_eq!(error.to_string(), "output y of onnx(m): 9007199254740993 is no double");
}

#[test]
fn sizes_that_differ_come_from_the_values() {
    let case = recorded("ids");
    let (ids, mask) = (flat(&case["ids"]), flat(&case["mask"]));
    let mapped = |numbers: &[f64], lengths: [usize; 2]| {
        let mut stored = Stored::new(parse_type("tensor(d0[1],d1{})").unwrap());
        for (row, length) in lengths.into_iter().enumerate() {
            let cell = |i: usize| format!("{{d0:0,d1:{i}}}:{}", numbers[row * 3 + i]);
            let list: Vec<String> = (0..length).map(cell).collect();
            assert!(stored.push(&value(&format!("tensor(d0[1],d1{{}}):{{{}}}", list.join(",")))));
        }
        stored
    };
    let fields = [("ids", "tensor(d0[1],d1{})"), ("mask", "tensor(d0[1],d1{})")];
    let package = package(
        "ids",
        &fields,
        "input ids: attribute(ids)\ninput mask: attribute(mask)",
        "",
        ".masked",
    );
    let model = package.model().unwrap();
    assert_eq!(
        model.explain(),
        ["onnx(m): one document a run: the size of input ids differs from document to document"]
    );
    assert_eq!(model.outputs()[0].kind.to_string(), "tensor<float>(d0[1],d1{},d2[4])");
    // The last of the first row is masked; two rows of other lengths.
    let (ids, mask) = (mapped(&ids, [2, 3]), mapped(&mask, [2, 3]));
    let columns = [Column::Cells(ids.attribute()), Column::Cells(mask.attribute())];
    let found = run(&model, &[], &columns, 2).unwrap();
    let masked = flat(&case["masked"]);
    let expected: Vec<f64> = masked[..8].iter().chain(&masked[12..]).copied().collect();
    assert_eq!(cells(&found[0]), expected);
    let lengths: Vec<usize> = found[0].values().iter().map(Value::blocks).collect();
    assert_eq!(lengths, [2, 3]);
}

#[test]
fn lists_of_a_field_are_taken_as_they_are_stored() {
    let case = recorded("ids");
    let fields = [("ids", "array<long>"), ("mask", "array<byte>")];
    let package = package(
        "ids",
        &fields,
        "input ids: attribute(ids)\ninput mask: attribute(mask)",
        "",
        ".sum",
    );
    let model = package.model().unwrap();
    let (ids, mask) = ([3_i64, 1, 15, 15, 2], [1_i8, 1, 1, 1, 1]);
    let offsets = [0, 2, 5];
    let columns = [
        Column::Lists { offsets: &offsets, numbers: Numbers::I64(&ids) },
        Column::Lists { offsets: &offsets, numbers: Numbers::I8(&mask) },
    ];
    let found = run(&model, &[], &columns, 2).unwrap();
    for (found, expected) in cells(&found[0]).iter().zip(flat(&case["sum"])) {
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }
}

#[test]
fn the_query_is_joined_with_documents() {
    let two = "input user: query(user)\ninput item: attribute(item)";
    let one = "input x: concat(query(user), attribute(item), d1)";
    let half =
        |node: &str| format!("onnx(m): 1 value once for the query, the query's half of {node}");
    for (name, bindings, output, expected) in [
        ("ranker", two, "score_0", half("Gemm node of \"h1\"")),
        ("ranker_of_one", two, "score_0", half("Gemm node of \"h1\"")),
        ("joined", one, "score", half("MatMul node of \"p1\"")),
        ("late", two, "score", "onnx(m): 1 value once for the query".to_owned()),
    ] {
        let case = recorded(name);
        let rest = "inputs { query(user) tensor<float>(d0[1],d1[3]) }";
        let fields = [("item", "tensor<float>(d0[1],d1[5])")];
        let package = package(name, &fields, bindings, rest, &format!(".{output}"));
        let model = package.model().unwrap();
        assert_eq!(model.explain(), ["onnx(m): up to 256 documents a run", &expected], "{name}");
        assert_eq!(model.outputs()[0].feature, format!("onnx(m).{output}"));
        let user = flat(&case["user"]);
        let user: Vec<String> = user.iter().map(f64::to_string).collect();
        let user = value(&format!("tensor<float>(d0[1],d1[3]):[[{}]]", user.join(",")));
        let items = dense("tensor<float>(d0[1],d1[5])", &flat(&case["items"]));
        let columns = [Column::Cells(items.attribute())];
        for count in [9, 1, 2] {
            let found = run(&model, &[Given::Value(&user)], &columns, count).unwrap();
            assert_eq!(found[0].len(), count);
            for (found, expected) in cells(&found[0]).iter().zip(flat(&case["scores"])) {
                assert!((found - expected).abs() < 1e-6, "{name}: {found} {expected}");
            }
        }
    }
}

#[test]
fn a_model_of_the_query_only_runs_once() {
    let case = recorded("ranker");
    let rest = "inputs {\n query(user) tensor<float>(d0[1],d1[3])\n query(item) tensor<float>(d0[1],d1[5]) }";
    let package =
        package("ranker", &[], "input user: query(user)\ninput item: query(item)", rest, "");
    let model = package.model().unwrap();
    assert_eq!(model.rate(), stead_expr::Rate::Query);
    let list = |numbers: &[f64]| numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
    let user = value(&format!("tensor<float>(d0[1],d1[3]):[[{}]]", list(&flat(&case["user"]))));
    let items = flat(&case["items"]);
    let item = value(&format!("tensor<float>(d0[1],d1[5]):[[{}]]", list(&items[..5])));
    let bound = model.for_query(&[Given::Value(&user), Given::Value(&item)]).unwrap();
    let score = bound.once(&Serial, &mut Scratch::default()).unwrap()[0].cells().get(0).unwrap();
    assert!((score - flat(&case["scores"])[0]).abs() < 1e-6, "{score}");
}

#[test]
fn rows_that_look_at_each_other_run_alone() {
    let case = recorded("mixing");
    let kind = "tensor<float>(d0[1],d1[2])";
    let package = package("mixing", &[("x", kind)], "input x: attribute(x)", "", "");
    let model = package.model().unwrap();
    assert_eq!(
        model.explain(),
        [
            "onnx(m): one document a run: output \"y\" is another for two rows than for each of them alone; \
             Softmax node of \"y\" works along the axis of the rows"
        ]
    );
    let stored = dense(kind, &flat(&case["x"]));
    let found = run(&model, &[], &[Column::Cells(stored.attribute())], 2).unwrap();
    assert_eq!(cells(&found[0]), flat(&case["y"]));
}

#[test]
fn more_documents_than_a_run_has() {
    let package =
        package("float", &[("x", "tensor<float>(d0[1],d1[3])")], "input x: attribute(x)", "", "");
    let model = package.model().unwrap();
    let numbers: Vec<f64> = (0..3 * 600).map(f64::from).collect();
    let stored = dense("tensor<float>(d0[1],d1[3])", &numbers);
    let found = run(&model, &[], &[Column::Cells(stored.attribute())], 600).unwrap();
    let expected: Vec<f64> = numbers.chunks(3).flat_map(|x| [5.0, x[2], x[0], x[1]]).collect();
    assert_eq!(cells(&found[0]), expected);
    assert!(run(&model, &[], &[Column::Cells(stored.attribute())], 0).unwrap()[0].is_empty());
}

#[test]
fn numbers_that_do_not_fit_are_errors_unless_the_package_rounds() {
    let text = |name: &str, kind: &str, rest: &str, number: f64| {
        let package = package(name, &[("x", kind)], "input x: attribute(x)", rest, "");
        let model = package.model().unwrap();
        let stored = dense(kind, &[1.0, number, 2.0]);
        match run(&model, &[], &[Column::Cells(stored.attribute())], 1) {
            Ok(columns) => format!("{:?}", cells(&columns[0])),
            Err(error) => error.to_string(),
        }
    };
    let double = "tensor(d0[1],d1[3])";
    let rounds = "rank-properties { onnx(m).conversion: nearest }";
    for (name, rest, number, expected) in [
        ("int64", "", 1.5, "input x of onnx(m): 1.5 is no i64"),
        ("int64", rounds, 1.5, "[5.0, 2.0, 1.0, 2.0]"),
        ("uint8", "", 256.0, "input x of onnx(m): 256 is no u8"),
        ("uint8", rounds, 256.0, "[5.0, 2.0, 1.0, 255.0]"),
        ("uint16", "", -1.0, "input x of onnx(m): -1 is no u16"),
        ("bool", "", 2.0, "input x of onnx(m): 2 is no bool"),
        ("bool", rounds, 0.5, "[1.0, 1.0, 1.0, 1.0]"),
        ("int32", "", f64::NAN, "input x of onnx(m): NaN is no i32"),
        ("float", "", 16_777_217.0, "input x of onnx(m): 16777217 is no f32"),
        ("float", rounds, 16_777_217.0, "[5.0, 2.0, 1.0, 16777216.0]"),
        ("float", "", 0.1, "[5.0, 2.0, 1.0, 0.10000000149011612]"),
        ("float16", "", 70_000.0, "input x of onnx(m): 70000 is no f16"),
    ] {
        assert_eq!(text(name, double, rest, number), expected, "{name} {number}");
    }
}

#[test]
fn whole_numbers_of_64_bits_stay_what_they_are() {
    let case_fields = [("x", "array<long>")];
    let package = package("int64", &case_fields, "input x: attribute(x)", "", "");
    let model = package.model().unwrap();
    let numbers = [1, 2, (1_i64 << 53) + 1];
    let columns = [Column::Lists { offsets: &[0, 3], numbers: Numbers::I64(&numbers) }];
    let error = run(&model, &[], &columns, 1).err().unwrap();
    assert_eq!(error.to_string(), "output y of onnx(m): 9007199254740993 is no double");
}

struct Words;

impl Texts for Words {
    fn documents(&self) -> usize {
        1
    }

    fn count(&self, _: usize) -> usize {
        1
    }

    fn text(&self, _: usize, _: usize) -> &str {
        "word"
    }
}

#[test]
fn values_that_are_missing_or_of_another_form_are_errors() {
    let rest = "inputs { query(user) tensor<float>(d0[1],d1[3]) }";
    let bindings = "input user: query(user)\ninput item: attribute(item)";
    let fields = [("item", "tensor<float>(d0[1],d1[5])")];
    let package = package("ranker", &fields, bindings, rest, "");
    let model = package.model().unwrap();
    let user = value("tensor<float>(d0[1],d1[3]):[[1,2,3]]");
    let other = value("tensor<float>(d0[1],d1[2]):[[1,2]]");
    let items = dense("tensor<float>(d0[1],d1[5])", &[0.0; 10]);
    let right = [Column::Cells(items.attribute())];
    let numbers = [Column::Cells(Attribute::Numbers(Numbers::F32(&[1.0])))];
    let texts = [Column::Texts(&Words)];
    for (label, given, columns, count, expected) in [
        ("nothing given", &[][..], &right[..], 1, "onnx(m) needs 1 values of the query, got 0"),
        (
            "another type",
            &[Given::Value(&other)],
            &right,
            1,
            "query(user) of onnx(m) needs a tensor<float>(d0[1],d1[3]), got a tensor<float>(d0[1],d1[2])",
        ),
        (
            "a text",
            &[Given::Text("a")],
            &right,
            1,
            "query(user) of onnx(m) needs a tensor<float>(d0[1],d1[3]), got a text",
        ),
        (
            "no column",
            &[Given::Value(&user)],
            &[],
            1,
            "onnx(m) needs 1 columns of documents, got 0",
        ),
        (
            "texts",
            &[Given::Value(&user)],
            &texts,
            1,
            "attribute(item) of onnx(m) needs a tensor<float>(d0[1],d1[5]), got texts",
        ),
        (
            "numbers",
            &[Given::Value(&user)],
            &numbers,
            1,
            "attribute(item) of onnx(m) needs a tensor<float>(d0[1],d1[5]), got numbers",
        ),
        (
            "too short",
            &[Given::Value(&user)],
            &right,
            3,
            "attribute(item) of onnx(m) needs 3 documents, got 2",
        ),
    ] {
        let error = run(&model, given, columns, count).err();
        assert_eq!(error.map(|e| e.to_string()), Some(expected.to_owned()), "{label}");
    }
}

#[test]
fn sizes_that_the_file_does_not_tell_come_from_a_run() {
    let case = recorded("unknown");
    let kind = "tensor<float>(d0[1],d1[3])";
    let package = package("unknown", &[("x", kind)], "input x: attribute(x)", "", "");
    let model = package.model().unwrap();
    assert_eq!(model.outputs()[0].kind.to_string(), "tensor<float>(d0[6],d1[2])");
    let stored = dense(kind, &flat(&case["x"]));
    let found = run(&model, &[], &[Column::Cells(stored.attribute())], 2).unwrap();
    assert_eq!(cells(&found[0]), flat(&case["y"]));
}

#[test]
fn weights_may_lie_in_files_beside_the_model() {
    let case = recorded("external");
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/onnx");
    let weights = fs::read(folder.join("external.weights")).unwrap();
    let kind = "tensor<float>(d0[1],d1[3])";
    let profile = "onnx-model m {\n file: files/m.onnx\ninput x: attribute(x)\n}\nfirst-phase { expression: sum(onnx(m)) }";
    let network = network("external");
    let files = [("files/m.onnx", &network[..]), ("files/external.weights", &weights)];
    let package = Package::new(&[("x", kind)], profile, &files);
    let model = package.model().unwrap();
    let stored = dense(kind, &flat(&case["x"]));
    let found = run(&model, &[], &[Column::Cells(stored.attribute())], 2).unwrap();
    let near = |(found, expected): (&f64, f64)| (found - expected).abs() < 1e-6;
    let found = cells(&found[0]);
    assert!(found.iter().zip(flat(&case["y"])).all(near), "{found:?}");
    let alone = Package::new(&[("x", kind)], profile, &files[..1]);
    let (wrong, _) = alone.models();
    assert!(wrong[0].contains("files/external.weights: no such file"), "{wrong:?}");
}

/// Texts of documents, a list for each.
#[derive(Debug)]
struct Lists(Vec<Vec<String>>);

impl Texts for Lists {
    fn documents(&self) -> usize {
        self.0.len()
    }

    fn count(&self, document: usize) -> usize {
        self.0[document].len()
    }

    fn text(&self, document: usize, at: usize) -> &str {
        &self.0[document][at]
    }
}

#[test]
fn texts_come_in_from_queries_and_documents() {
    let case = recorded("words");
    let kind = "tensor<float>(d0[1],d1[2])";
    let bound = "input query: query(q)\ninput words: attribute(words)\ninput x: attribute(x)";
    let fields = [("words", "array<string>"), ("x", kind)];
    let package = package("words", &fields, bound, "inputs { query(q) string }", "");
    let model = package.model().unwrap();
    let lists: Vec<Vec<String>> = serde_json::from_value(case["words"].clone()).unwrap();
    let (lists, numbers) = (Lists(lists), dense(kind, &flat(&case["x"])));
    let names: Vec<&str> = model.document_names().map(|(name, _)| name).collect();
    let column = |name: &&str| match *name {
        "attribute(words)" => Column::Texts(&lists),
        _ => Column::Cells(numbers.attribute()),
    };
    let columns: Vec<Column<'_>> = names.iter().map(column).collect();
    let found = run(&model, &[Given::Text("hello")], &columns, 3).unwrap();
    assert_eq!(cells(&found[0]), flat(&case["y"]));
}

/// The file says 1 in its shapes: a row becomes a vector, then two rows of heads, and one row again.
#[test]
fn a_network_of_one_row_is_made_to_take_several() {
    use stead_onnx::ModelBuilder;
    use stead_tensor::{DType, Tensor};
    let ints = |list: &[i64]| Tensor::from_slice(list, &[list.len()]).unwrap();
    let weights: Vec<f32> = (0..18).map(|n| (n % 7) as f32 - 3.0).collect();
    let bytes = ModelBuilder::new(17)
        .input("x", DType::F32, &["1", "6"])
        .init("flat", ints(&[6]))
        .init("heads", ints(&[1, 2, 3]))
        .init("row", ints(&[1, 6]))
        .init("half", Tensor::scalar(0.5f32).unwrap())
        .init("w", Tensor::from_slice(&weights, &[6, 3]).unwrap())
        .node("Reshape", &["x", "flat"], &["vector"])
        .node("Mul", &["vector", "half"], &["scaled"])
        .node("Reshape", &["scaled", "heads"], &["of_heads"])
        .node("Softmax", &["of_heads"], &["soft"])
        .attr("axis", -1)
        .node("Reshape", &["soft", "row"], &["again"])
        .node("MatMul", &["again", "w"], &["y"])
        .output_of(
            "y",
            stead_onnx::ValueType::tensor(DType::F32, Some(stead_onnx::dims_of(&["1", "3"]))),
        )
        .bytes();
    let kind = "tensor<float>(d0[1],d1[6])";
    let profile = "onnx-model m {\n file: files/m.onnx\n input x: attribute(x)\n}\n\
        first-phase { expression: sum(onnx(m)) }";
    let package = Package::new(&[("x", kind)], profile, &[("files/m.onnx", &bytes)]);
    let model = package.model().unwrap();
    assert_eq!(model.explain(), ["onnx(m): up to 256 documents a run"]);
    assert_eq!(model.singly(), None);
    let numbers: Vec<f64> = (0..60).map(|n| f64::from(n * 37 % 19) / 4.0).collect();
    let stored = dense(kind, &numbers);
    let all = run(&model, &[], &[Column::Cells(stored.attribute())], 10).unwrap();
    for (at, (row, together)) in numbers.chunks(6).zip(cells(&all[0]).chunks(3)).enumerate() {
        let one = dense(kind, row);
        let alone = run(&model, &[], &[Column::Cells(one.attribute())], 1).unwrap();
        for (alone, together) in cells(&alone[0]).iter().zip(together) {
            assert!((alone - together).abs() < 1e-6, "document {at}: {alone} {together}");
        }
    }
}
