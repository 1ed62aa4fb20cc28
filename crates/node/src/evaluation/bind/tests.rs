use stead_expr::parse_type;

use super::*;
use crate::evaluation::EvaluationFunction;

fn served(arguments: &[(&str, EvaluationType)], categories: &[&str]) -> Served {
    let argument = |(name, kind): &(&str, EvaluationType)| EvaluationArgument {
        name: (*name).to_owned(),
        kind: kind.clone(),
    };
    let arguments: Vec<_> = arguments.iter().map(argument).collect();
    let inputs = arguments.iter().map(|argument| format!("{}:0", argument.name)).collect();
    Served {
        function: EvaluationFunction { name: "f".to_owned(), arguments, result: None },
        output: "f".to_owned(),
        inputs,
        categories: categories.iter().map(|name| (*name).to_owned()).collect(),
    }
}

fn kind(text: &str) -> EvaluationType {
    EvaluationType::Tensor(parse_type(text).unwrap())
}

fn texts(rank: usize) -> EvaluationType {
    EvaluationType::Array { dtype: DType::String, dims: Some(vec![None; rank]) }
}

fn shown(datum: &Datum) -> String {
    match datum {
        Datum::Value(value) => value.to_string(),
        Datum::Array(array) if array.dtype() == DType::String => {
            let view = array.view();
            let all = view.strings().iter().map(|text| String::from_utf8_lossy(text).into_owned());
            format!("{:?} {}", array.shape().dims(), all.collect::<Vec<_>>().join("|"))
        }
        Datum::Array(array) => format!("{} {:?}", array.dtype(), array.shape().dims()),
    }
}

fn text(text: &str) -> EvaluationInput {
    EvaluationInput::Text(text.to_owned())
}

fn json(text: &str) -> EvaluationInput {
    EvaluationInput::Json(text.to_owned())
}

#[test]
fn values_have_the_types_of_their_arguments() {
    let open = EvaluationType::Array { dtype: DType::I32, dims: None };
    for (kind, input, expected) in [
        (
            kind("tensor(d0[],d1[])"),
            text("{{d0:0,d1:0}:1,{d0:0,d1:1}:2}"),
            "tensor(d0[1],d1[2]):[[1,2]]",
        ),
        (kind("tensor(d0[],d1[])"), text("[[1,2]]"), "tensor(d0[1],d1[2]):[[1,2]]"),
        (kind("tensor(x[2])"), text(r#"{"values":[1,2]}"#), "tensor(x[2]):[1,2]"),
        (kind("tensor(x[2])"), text(r#"["NaN",2]"#), "tensor(x[2]):[NaN,2]"),
        (kind("tensor<float>(x[1])"), text("3F800000"), "tensor<float>(x[1]):[1]"),
        (kind("tensor(d0[],d1[])"), json("[[1,2]]"), "tensor(d0[1],d1[2]):[[1,2]]"),
        (kind("tensor(d0[])"), json(r#"["NaN",null]"#), "tensor(d0[2]):[NaN,NaN]"),
        (kind("tensor(d0[])"), json(r#""[1,2]""#), "tensor(d0[2]):[1,2]"),
        (
            kind("tensor<float>(d0[])"),
            json(r#"{"type":"tensor<float>(d0[2])","cells":[{"address":{"d0":"1"},"value":7}]}"#),
            "tensor<float>(d0[2]):[0,7]",
        ),
        (kind("tensor(x{})"), json(r#"{"a":1}"#), "tensor(x{}):{a:1}"),
        (kind("tensor(x{})"), text("{a:1}"), "tensor(x{}):{a:1}"),
        (kind("double"), text("-1.5"), "-1.5"),
        (kind("double"), json("-1.5"), "-1.5"),
        (kind("double"), json(r#""2""#), "2"),
        (texts(1), json(r#"["a","b c"]"#), "[2] a|b c"),
        (texts(2), json(r#"{"type":"tensor<string>(d0[1],d1[1])","values":[["a"]]}"#), "[1, 1] a"),
        (texts(2), json(r#""a""#), "[1, 1] a"),
        (texts(0), text("some [words]"), "[] some [words]"),
        (texts(1), text("some words"), "[1] some words"),
        (texts(1), text("5"), "[1] 5"),
        (texts(1), text(r#"["a","b"]"#), "[2] a|b"),
        (open.clone(), json("[[1,2]]"), "i32 [1, 2]"),
        (open, text("[[1],[2]]"), "i32 [2, 1]"),
    ] {
        let served = served(&[("x", kind.clone())], &[]);
        let found = bind(&served, &[("x".to_owned(), input.clone())], None);
        let found = found.unwrap_or_else(|error| panic!("{kind} {input:?}: {error}"));
        assert_eq!((found[0].0.as_str(), shown(&found[0].1).as_str()), ("x:0", expected), "{kind}");
    }
}

#[test]
fn names_of_categories_are_those_of_expressions() {
    let served = served(&[("c", kind("double"))], &["c:0"]);
    let hash = |text: &str| text_number(text).to_string();
    for (input, expected) in [
        (text("a"), hash("a")),
        (text("'a'"), hash("a")),
        (text("5"), hash("5")),
        (json(r#""a b""#), hash("a b")),
        (json("5"), hash("5")),
    ] {
        let found = bind(&served, &[("c".to_owned(), input.clone())], None).unwrap();
        assert_eq!(shown(&found[0].1), expected, "{input:?}");
    }
    // What is missing is no category.
    assert_eq!(shown(&bind(&served, &[], None).unwrap()[0].1), "NaN");
}

#[test]
fn what_is_not_given_is_missing() {
    let of = served(&[("a", kind("double")), ("v", kind("tensor(x[2])"))], &[]);
    let given = |name: &str, value: &str| (name.to_owned(), text(value));
    let needs = "Argument 'v' must be bound to a value of type tensor(x[2])";
    for (inputs, missing, expected) in [
        (vec![given("v", "[1,2]")], None, Ok("NaN tensor(x[2]):[1,2]")),
        (vec![given("V", "[1,2]"), given("A", "3")], None, Ok("3 tensor(x[2]):[1,2]")),
        (
            vec![given("V", "[9,9]"), given("v", "[1,2]"), given("v", "[3,4]")],
            None,
            Ok("NaN tensor(x[2]):[1,2]"),
        ),
        (vec![given("v", "[1,2]")], Some("-1.0"), Ok("-1 tensor(x[2]):[1,2]")),
        (vec![given("a", "3")], Some("tensor(x[2]):[5,6]"), Ok("3 tensor(x[2]):[5,6]")),
        (vec![given("a", "3")], Some("[5,6]"), Ok("3 tensor(x[2]):[5,6]")),
        (vec![given("a", "3"), given("other", "x")], None, Err(needs)),
        (vec![given("a", "3")], Some("-1.0"), Err(needs)),
    ] {
        let missing = missing.map(text);
        let found = bind(&of, &inputs, missing.as_ref());
        let found = found.map_err(|error| error.to_string());
        let found =
            found.map(|all| all.iter().map(|(_, d)| shown(d)).collect::<Vec<_>>().join(" "));
        assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned), "{inputs:?}");
    }
}

#[test]
fn values_of_other_types_are_refused() {
    for (kind, input, why) in [
        (kind("double"), text("abc"), "\"abc\" is no number; a text stands in quotes of its own"),
        (kind("double"), json("true"), "expected the cells of double, found true"),
        (
            kind("tensor(x[2])"),
            text("abc"),
            "tensor(x[2]) needs 32 hexadecimal digits in a block, got 3",
        ),
        (
            kind("tensor(x[2])"),
            text(""),
            "expected [ before the cells of a block at byte 0, found the end",
        ),
        (kind("tensor(x[2])"), json("[1,2,3]"), "tensor(x[2]) needs 2 cells in a block, got 3"),
        (kind("tensor(x[2])"), json("[1,"), "EOF while parsing a value at line 1 column 3"),
        (kind("tensor(x[2])"), json("7"), "expected the cells of tensor(x[2]), found 7"),
        (texts(1), json("[1]"), "expected texts in arrays of equal lengths"),
        (texts(1), json("[[\"a\"]]"), "expected an array of 1 dimensions, found one of 2"),
        (texts(1), json("[\"a\",[\"b\"]]"), ""),
        (texts(1), json("{}"), "an object without values is no array"),
    ] {
        let served = served(&[("x", kind.clone())], &[]);
        let error = bind(&served, &[("x".to_owned(), input.clone())], None).unwrap_err();
        let before = format!("Argument 'x' must be bound to a value of type {kind}: ");
        let (error, code) = (error.to_string(), error.code);
        assert!(error.starts_with(&before), "{error}");
        assert_eq!(code, Code::InvalidArgument);
        assert!(why.is_empty() || error == format!("{before}{why}"), "{input:?}: {error}");
    }
}
