//! Maps and sequences of maps, as inputs and outputs of models.
#![allow(clippy::unwrap_used)] // a panic is the report

use stead_engine::{
    Form, LoadError, LoadOptions, Model, OwnedOutput, PassChoice, RunContext, RunError, Session,
    SessionOptions, Value,
};
use stead_onnx::{AttributeValue, ModelBuilder, ValueType};
use stead_tensor::{DType, Element, Tensor};

const ML: &str = "ai.onnx.ml";

fn load(model: ModelBuilder, passes: PassChoice) -> Result<Session, LoadError> {
    let load = LoadOptions { lists: true, passes, ..LoadOptions::default() };
    let model = Model::from_onnx(model.build().unwrap(), &load)?;
    Session::new(model, &SessionOptions::default())
}

fn run(session: &Session, inputs: &[Value<Tensor>]) -> Result<Vec<Value<Tensor>>, RunError> {
    let views: Vec<_> = inputs.iter().map(|value| value.map(Tensor::view)).collect();
    let all: Vec<usize> = (0..session.model().outputs().len()).collect();
    let outputs = session.run_values(&views, &RunContext::default(), &all)?;
    let tensors = outputs.into_iter().map(|v| v.try_map(OwnedOutput::into_tensor).unwrap());
    Ok(tensors.collect())
}

fn row<T: Element>(values: &[T]) -> Tensor {
    Tensor::from_slice(values, &[values.len()]).unwrap()
}

fn texts(values: &[&str]) -> Tensor {
    let strings = values.iter().map(|text| text.as_bytes().to_vec()).collect();
    Tensor::from_strings(strings, &[values.len()]).unwrap()
}

fn table(values: &[f32], rows: usize) -> Tensor {
    Tensor::from_slice(values, &[rows, values.len() / rows.max(1)]).unwrap()
}

fn in_a_row(tensor: &Tensor) -> Tensor {
    let shape = stead_tensor::Shape::new(&[1, tensor.shape().elements()]).unwrap();
    tensor.reshaped(shape).unwrap()
}

fn map_of(key: DType, value: DType) -> ValueType {
    ValueType::Map { key, value: Box::new(ValueType::tensor(value, None)) }
}

fn list(texts: &[&str]) -> AttributeValue {
    AttributeValue::Strings(texts.iter().map(|text| text.as_bytes().to_vec()).collect())
}

fn new() -> ModelBuilder {
    ModelBuilder::new(17).import(ML, 3)
}

/// A node that reads the map `x` and gives the tensor `y`.
fn reader(op: &str, key: DType, value: DType, to: DType) -> ModelBuilder {
    new().input_of("x", map_of(key, value)).node(op, &["x"], &["y"]).domain(ML).output("y", to)
}

fn zip(labels: (&str, AttributeValue), key: DType) -> ModelBuilder {
    new()
        .input("x", DType::F32, &["n", "m"])
        .node("ZipMap", &["x"], &["maps"])
        .domain(ML)
        .attr(labels.0, labels.1)
        .output_of("maps", ValueType::Sequence(Box::new(map_of(key, DType::F32))))
}

/// With all passes and as the file has it, twice so that plans are found again.
fn check(
    label: &str,
    model: &dyn Fn() -> ModelBuilder,
    cases: &[(Value<Tensor>, Result<Value<Tensor>, &str>)],
) {
    for passes in [PassChoice::All, PassChoice::None] {
        let session = load(model(), passes).unwrap();
        for (input, expected) in cases.iter().chain(cases) {
            let actual = run(&session, std::slice::from_ref(input)).map_err(|e| e.to_string());
            match (actual, expected) {
                (Ok(actual), Ok(expected)) => {
                    assert_eq!(actual, std::slice::from_ref(expected), "{label} {passes:?}");
                }
                (Err(actual), Err(expected)) => {
                    assert!(actual.contains(expected), "{label} {passes:?}: {actual}");
                }
                (actual, expected) => panic!("{label} {passes:?}: {actual:?}, not {expected:?}"),
            }
        }
    }
}

#[test]
fn rows_of_a_table_become_maps() {
    let given = |values: &[f32], rows| Value::Tensor(table(values, rows));
    let by_number = || zip(("classlabels_int64s", AttributeValue::Ints(vec![5, 3])), DType::I64);
    let maps =
        |values: &[f32], rows| Value::Maps { keys: row(&[5i64, 3]), values: table(values, rows) };
    let empty = Tensor::from_slice::<f32>(&[], &[0, 2]).unwrap();
    let cases = [
        (given(&[1., 2., 3., 4.], 2), Ok(maps(&[1., 2., 3., 4.], 2))),
        (given(&[1., 2.], 1), Ok(maps(&[1., 2.], 1))),
        (Value::Tensor(empty.clone()), Ok(Value::Maps { keys: row(&[5i64, 3]), values: empty })),
        (given(&[1., 2., 3.], 1), Err("3 columns for 2 labels")),
    ];
    check("numbers", &by_number, &cases);
    let by_text = || zip(("classlabels_strings", list(&["b", "a"])), DType::String);
    let maps = Value::Maps { keys: texts(&["b", "a"]), values: table(&[1., 2., 3., 4.], 2) };
    check("texts", &by_text, &[(given(&[1., 2., 3., 4.], 2), Ok(maps))]);
}

/// What lies by strides, and what a step computes, is zipped too; a vector is one row.
#[test]
fn tables_are_zipped_wherever_they_lie() {
    let labels = || AttributeValue::Ints(vec![7, 8]);
    let made = |op: &'static str| {
        move || {
            new()
                .input("x", DType::F32, &["n", "m"])
                .node(op, &["x"], &["made"])
                .node("ZipMap", &["made"], &["maps"])
                .domain(ML)
                .attr("classlabels_int64s", labels())
                .output_of("maps", ValueType::Sequence(Box::new(map_of(DType::I64, DType::F32))))
        }
    };
    let input = || Value::Tensor(table(&[1., 2., 3., 4.], 2));
    let maps =
        |values: &[f32], rows| Value::Maps { keys: row(&[7i64, 8]), values: table(values, rows) };
    check("strides", &made("Transpose"), &[(input(), Ok(maps(&[1., 3., 2., 4.], 2)))]);
    check("computed", &made("Neg"), &[(input(), Ok(maps(&[-1., -2., -3., -4.], 2)))]);
    let vector = || {
        new()
            .input("x", DType::F32, &["n"])
            .node("Neg", &["x"], &["made"])
            .node("ZipMap", &["made"], &["maps"])
            .domain(ML)
            .attr("classlabels_int64s", labels())
            // Passed on as it is.
            .node("Identity", &["maps"], &["same"])
            .output_of("same", ValueType::Sequence(Box::new(map_of(DType::I64, DType::F32))))
    };
    check("vector", &vector, &[(Value::Tensor(row(&[1f32, 2.])), Ok(maps(&[-1., -2.], 1)))]);
}

fn vocabulary(key: DType) -> (&'static str, AttributeValue) {
    match key {
        DType::String => ("string_vocabulary", list(&["9", "2", "5"])),
        _ => ("int64_vocabulary", AttributeValue::Ints(vec![9, 2, 5])),
    }
}

#[test]
fn maps_become_rows_of_features() {
    let vectorizer = |key, value| {
        move || {
            let (name, list) = vocabulary(key);
            reader("DictVectorizer", key, value, value).attr(name, list)
        }
    };
    let keys = |key, two: bool| match (key, two) {
        (DType::String, true) => texts(&["5", "x", "9"]),
        (DType::String, _) => texts(&[]),
        (_, true) => row(&[5i64, -1, 9]),
        _ => row::<i64>(&[]),
    };
    // The values of the keys 5, one that is not known, and 9; then what stands in the row for 9, 2 and 5.
    let values = [
        (row(&[1.5f32, 2., -3.]), row(&[-3f32, 0., 1.5]), row::<f32>(&[])),
        (row(&[1.5f64, 2., -3.]), row(&[-3f64, 0., 1.5]), row::<f64>(&[])),
        (row(&[1i64, 2, i64::MIN]), row(&[i64::MIN, 0, 1]), row::<i64>(&[])),
        (texts(&["a", "b", "c"]), texts(&["c", "", "a"]), texts(&[])),
    ];
    for key in [DType::I64, DType::String] {
        for (given, expected, none) in &values {
            let dtype = given.dtype();
            if (key, dtype) == (DType::String, DType::String) {
                continue;
            }
            let zeros = match dtype {
                DType::F32 => row(&[0f32; 3]),
                DType::F64 => row(&[0f64; 3]),
                DType::I64 => row(&[0i64; 3]),
                _ => texts(&["", "", ""]),
            };
            let full = Value::Map { keys: keys(key, true), values: given.clone() };
            let empty = Value::Map { keys: keys(key, false), values: none.clone() };
            let cases = [
                (full, Ok(Value::Tensor(in_a_row(expected)))),
                (empty, Ok(Value::Tensor(in_a_row(&zeros)))),
            ];
            check(&format!("{key} to {dtype}"), &vectorizer(key, dtype), &cases);
        }
    }
}

/// As ONNX Runtime answers.
#[test]
fn maps_are_cast_in_the_order_of_their_keys_or_at_them() {
    let attr = |name: &str| AttributeValue::String(name.as_bytes().to_vec());
    let cast = |from: DType, to: DType, places: i64| {
        move || {
            let name = match to {
                DType::F32 => "TO_FLOAT",
                DType::I64 => "TO_INT64",
                _ => "TO_STRING",
            };
            let model = reader("CastMap", DType::I64, from, to).attr("cast_to", attr(name));
            match places {
                0 => model,
                _ => model
                    .attr("map_form", attr("SPARSE"))
                    .attr("max_map", AttributeValue::Int(places)),
            }
        }
    };
    let map = |keys: &[i64], values: Tensor| Value::Map { keys: row(keys), values };
    let numbers = || map(&[3, 1], row(&[1.5f32, -2.7]));
    let result = |tensor: Tensor| Ok(Value::Tensor(in_a_row(&tensor)));
    let (f32, i64, string) = (DType::F32, DType::I64, DType::String);
    let cases = [
        (f32, f32, 0, numbers(), result(row(&[-2.7f32, 1.5]))),
        (f32, i64, 0, numbers(), result(row(&[-2i64, 1]))),
        (f32, string, 0, numbers(), result(texts(&["-2.700000", "1.500000"]))),
        (f32, string, 3, numbers(), result(texts(&["0.f", "-2.700000", "0.f"]))),
        (f32, f32, 5, numbers(), result(row(&[0f32, -2.7, 0., 1.5, 0.]))),
        (f32, f32, 5, map(&[1, -9], row(&[1f32, 2.])), Err("-9 is no place of a row")),
        (string, f32, 0, map(&[2, 1], texts(&["1.5", " -2e3"])), result(row(&[-2e3f32, 1.5]))),
        (string, i64, 2, map(&[1], texts(&["-7"])), result(row(&[0i64, -7]))),
        (string, i64, 0, map(&[1], texts(&["x"])), Err("\"x\" is not a number of this type")),
        (string, string, 0, map(&[2, 1], texts(&["b", "a"])), result(texts(&["a", "b"]))),
    ];
    for (from, to, places, input, expected) in cases {
        let label = format!("{from} to {to}, {places} places");
        check(&label, &cast(from, to, places), &[(input, expected)]);
    }
}

#[test]
fn what_is_no_map_of_the_type_is_refused() {
    let model = || reader("DictVectorizer", DType::String, DType::F32, DType::F32);
    let model = || model().attr("string_vocabulary", list(&["a"]));
    let map = |keys, values| Value::Map { keys, values };
    let given = || row(&[1f32]);
    let cases = [
        (map(row(&[1i64]), given()), Err("map(string,f32) expected, got keys of i64")),
        (map(texts(&["a"]), row(&[1i64])), Err("input \"x\": element type f32 expected, got i64")),
        (map(texts(&["a", "b"]), given()), Err("expected, got keys [2] and values [1]")),
        (map(in_a_row(&texts(&["a"])), in_a_row(&given())), Err("got keys [1,1]")),
        (Value::Tensor(given()), Err("map(string,f32) expected, got a tensor")),
        (Value::Nothing, Err("missing input \"x\"")),
        // Of a key that stands there twice, the last value holds.
        (map(texts(&["a", "a"]), row(&[1f32, 2.])), Ok(Value::Tensor(in_a_row(&row(&[2f32]))))),
    ];
    check("wrong", &model, &cases);
    let session = load(model(), PassChoice::All).unwrap();
    assert_eq!(session.model().input_form(0), Form::MapByString);
    let told = session.run(&[("x", row(&[1f32]).view())], &[]).unwrap_err().to_string();
    assert!(told.contains("map(string,f32) expected, got tensors only"), "{told}");
}

#[test]
fn models_are_refused_by_name() {
    let refused = |model: ModelBuilder, lists: bool| {
        let options = LoadOptions { lists, ..LoadOptions::default() };
        let model = Model::from_onnx(model.build().unwrap(), &options);
        let session = model.and_then(|model| Session::new(model, &SessionOptions::default()));
        session.err().unwrap().to_string()
    };
    let ints = |values: &[i64]| AttributeValue::Ints(values.to_vec());
    let zipped = || zip(("classlabels_int64s", ints(&[1])), DType::I64);
    let vectorizer = |key, value| reader("DictVectorizer", key, value, value);
    let maps = ValueType::Sequence(Box::new(map_of(DType::I64, DType::F32)));
    let passed = new().input_of("x", maps.clone()).node("Identity", &["x"], &["y"]);
    let cast = |to: &str, form: &str, most: i64| {
        let text = |text: &str| AttributeValue::String(text.as_bytes().to_vec());
        reader("CastMap", DType::I64, DType::F32, DType::F32)
            .attr("cast_to", text(to))
            .attr("map_form", text(form))
            .attr("max_map", AttributeValue::Int(most))
    };
    let cases = [
        (zipped(), false, "output maps: type seq(map(i64,f32)) is not supported: export with"),
        (
            vectorizer(DType::I64, DType::F32).attr("int64_vocabulary", ints(&[1])),
            false,
            "input x: type map(i64,f32) is not supported",
        ),
        (
            vectorizer(DType::I64, DType::F32).attr("string_vocabulary", list(&["a"])),
            true,
            "a vocabulary of string for maps with keys of another type",
        ),
        (
            vectorizer(DType::I64, DType::F32).attr("int64_vocabulary", ints(&[1, 1])),
            true,
            "the vocabulary has a key twice",
        ),
        (vectorizer(DType::I64, DType::F32), true, "one of int64_vocabulary and string_vocabulary"),
        (zip(("other", ints(&[1])), DType::I64), true, "one of classlabels_int64s and"),
        (passed.output_of("y", maps), true, "input x: type seq(map(i64,f32)) is not supported"),
        (cast("TO_BOOL", "DENSE", 1), true, "cast_to is TO_BOOL"),
        (cast("TO_FLOAT", "THIN", 1), true, "map_form is THIN"),
        (cast("TO_FLOAT", "SPARSE", 0), true, "max_map is 0"),
    ];
    for (model, lists, expected) in cases {
        let told = refused(model, lists);
        assert!(told.contains(expected), "{told}, not {expected}");
    }
}
