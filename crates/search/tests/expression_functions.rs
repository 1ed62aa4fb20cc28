//! Functions of `.model` files, written as Vespa's own examples are.
#![allow(clippy::unwrap_used)]

use stead_expr::{Attribute, Cells, Numbers, Stored, Value, parse_type};
use stead_search::models::{Column, Documents, Given, Scratch};

use crate::harness::{Package, value};

const MODEL: &str = r#"model example {

    # All inputs that are not scalar (aka 0-dimensional tensor) must be declared
    input1: tensor(name{}, x[3])
    inputs { input2: tensor(x[3]) }

    constants {
        constant1: tensor(x[3]):{{x:0}:0.5, {x:1}:1.5, {x:2}:2.5}
        constant2: 3.0
    }

    constant constant1asLarge {
        type: tensor(x[3])
        file: constant1asLarge.json
    }

    function foo1() {
        expression: reduce(sum(input1 * input2, name) * constant1, max, x) * constant2
    }

    function foo2() {
        expression {
            reduce(sum(input1 * input2, name) * constant(constant1asLarge), max, x) * plus(number, constant2)
        }
    }

    function plus(a, b) { expression: a + b }
}
"#;

fn package(profile: &str, model: &str) -> Package {
    let large = r#"{"cells":[{"address":{"x":"0"},"value":0.5},{"address":{"x":"1"},"value":1.5},{"address":{"x":"2"},"value":2.5}]}"#;
    let profile = format!(
        "inputs {{ query(two) tensor(x[3]) }}\nfunction input1() {{ expression: attribute(one) }}\n\
         function input2() {{ expression: query(two) }}\n{profile}"
    );
    let fields = [("one", "tensor(name{},x[3])"), ("number", "int")];
    let files = [
        ("models/example.model", model.as_bytes()),
        ("models/constant1asLarge.json", large.as_bytes()),
    ];
    Package::new(&fields, &profile, &files)
}

#[test]
fn functions_of_a_file_take_functions_of_the_profile() {
    let numbers = "function number() { expression: attribute(number) }";
    let mut one = Stored::new(parse_type("tensor(name{},x[3])").unwrap());
    for text in ["{a:[1,2,3],b:[1,1,1]}", "{}", "{c:[0,0,2]}"] {
        assert!(one.push(&value(&format!("tensor(name{{}},x[3]):{text}"))));
    }
    let two = value("tensor(x[3]):[1,2,1]");
    // max over x of (sum over names of one * two) * [0.5, 1.5, 2.5], then times 3, or times number + 3.
    for (function, expected) in [("foo1", [30.0, 0.0, 15.0]), ("foo2", [40.0, 0.0, 40.0])] {
        let phase = format!("first-phase {{ expression: vespa(\"example.model\").{function} }}");
        let model = package(&format!("{numbers}\n{phase}"), MODEL).model().unwrap();
        assert_eq!(model.name(), format!("vespa(\"example.model\").{function}"));
        let column = |(name, _): (&str, _)| match name {
            "attribute(one)" => Column::Cells(one.attribute()),
            _ => Column::Cells(Attribute::Numbers(Numbers::I32(&[1, 2, 5]))),
        };
        let columns: Vec<Column<'_>> = model.document_names().map(column).collect();
        let bound = model.for_query(&[Given::Value(&two)]).unwrap();
        for index in [None, Some(&[2_u32, 0][..])] {
            let documents =
                Documents { count: index.map_or(3, <[u32]>::len), index, columns: &columns };
            let found = bound.run(&documents, &mut Scratch::default()).unwrap();
            let expected: Vec<Value> = match index {
                None => expected.iter().map(|x| Value::double(*x)).collect(),
                Some(index) => {
                    index.iter().map(|at| Value::double(expected[*at as usize])).collect()
                }
            };
            assert_eq!(found[0].values(), expected, "{function}");
        }
    }
    assert!(matches!(one.attribute(), Attribute::Mixed { cells: Cells::Double(_), .. }));
}

#[test]
fn what_is_wrong_with_a_file_is_told() {
    let phase = "first-phase { expression: vespa(\"example.model\").foo1 }";
    let name = "schemas/doc.sd:10:27: ";
    for (label, profile, model, expected) in [
        (
            "no function",
            "first-phase { expression: vespa(\"example.model\") }",
            MODEL.to_owned(),
            format!(
                "{name}vespa(\"example.model\") needs one of its functions behind a dot: foo1, foo2"
            ),
        ),
        (
            "no file",
            "first-phase { expression: vespa(\"other.model\").foo1 }",
            MODEL.to_owned(),
            format!("{name}the package has no file models/other.model"),
        ),
        (
            "another name",
            phase,
            MODEL.replace("model example", "model other"),
            format!(
                "{name}models/example.model:1: expected a model with the name of the file (example), found other"
            ),
        ),
        (
            "another type",
            phase,
            MODEL.replace("input1: tensor(name{}, x[3])", "input1: tensor(name{}, x[4])"),
            format!(
                "{name}function foo1 of models/example.model: input1 is a tensor(name{{}},x[3]), expected a tensor(name{{}},x[4])"
            ),
        ),
        (
            "no end",
            phase,
            MODEL.trim_end().trim_end_matches('}').to_owned(),
            format!("{name}models/example.model:"),
        ),
        (
            "not a type",
            phase,
            MODEL.replace("input1: tensor(name{}, x[3])", "input1: matrix"),
            format!("{name}models/example.model:4: expected a tensor type, found matrix"),
        ),
        (
            "a body that cannot be read",
            phase,
            MODEL.replace("constant1, max", "constant1, , max"),
            format!("{name}models/example.model:"),
        ),
    ] {
        let (wrong, _) = package(profile, &model).models();
        let first = wrong.first().cloned().unwrap_or_default();
        assert!(first.starts_with(&expected), "{label}: {wrong:?}");
    }
}
