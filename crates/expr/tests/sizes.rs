//! Types with dimensions whose sizes differ from value to value.
#![allow(clippy::unwrap_used)]

use stead_expr::{
    Attribute, Cells, Compiled, Documents, Rate, Scratch, TensorType, Value, compile, parse_type,
};

fn value(text: &str) -> Value {
    let nothing = |_: &str| -> Option<(TensorType, Rate)> { None };
    compile(text, &nothing).unwrap().run(&[]).unwrap()
}

/// An expression over names of these types; `d` is one of documents.
fn compiled(text: &str, kinds: &[(&str, &str)]) -> Compiled {
    let scope = |name: &str| {
        let (_, kind) = kinds.iter().find(|(n, _)| *n == name)?;
        let rate = if name == "d" { Rate::Document } else { Rate::Query };
        Some((parse_type(kind).unwrap(), rate))
    };
    compile(text, &scope).unwrap_or_else(|e| panic!("{text}: {e}"))
}

const A: &str = "tensor<float>(x[])";
const B: &str = "tensor<float>(x[3])";
const M: &str = "tensor<float>(k{},x[],y[])";

/// Every function gives for open sizes what it gives for the same sizes when they are written down.
#[test]
fn sizes_of_values_count_as_if_they_were_written() {
    let texts = [
        "a",
        "a * 2 + 1",
        "a + b",
        "sum(a * b)",
        "sum(a * a)",
        "concat(a, b, x)",
        "concat(a, 7, x)",
        "concat(a, m, z)",
        "merge(a, b, f(p,q)(p - q))",
        "rename(a, x, z)",
        "softmax(a, x)",
        "reduce(m, max, y)",
        "reduce(m * a, sum, x)",
        "matmul(rename(m{k:p}, x, z), rename(b, x, y), y)",
        "euclidean_distance(a, b, x)",
        "cosine_similarity(a, b, x)",
        "argmax(a, x)",
        "cell_order(a, max)",
        "cell_cast(a, int8)",
        "unpack_bits(cell_cast(a, int8))",
        "a{x:2}",
        "a{x:(1+1)}",
        "m{k:p,y:0}",
        "map_subspaces(m, f(t)(sum(t, y) + 1))",
        "map_subspaces(m, f(t)(rename(t, x, z)))",
        "filter_subspaces(m, f(t)(sum(t) > 20))",
        "if (a{x:0} > 0, a, b)",
        "tensor<float>(z[4])(a{x:(0)} + z)",
        "sum(tensor(z[2])(sum(a * z)) * 3)",
        "map(a, f(v)(v * v))",
        "top(1, reduce(m, sum, x, y))",
        "l2_normalize(a, x)",
        "expand(a, z)",
        "a in [1, 2]",
    ];
    let of_name = |name: &str| match name {
        "a" => value("tensor<float>(x[3]):[3,-1,2]"),
        "b" => value("tensor<float>(x[3]):[1,5,2]"),
        _ => value(
            "tensor<float>(k{},x[3],y[3]):{p:[[1,2,3],[4,5,6],[7,8,9]],q:[[1,0,0],[0,1,0],[0,0,1]]}",
        ),
    };
    let (open, closed) = (
        [("a", A), ("b", B), ("m", M)],
        [("a", B), ("b", B), ("m", "tensor<float>(k{},x[3],y[3])")],
    );
    for text in texts {
        let (open, closed) = (compiled(text, &open), compiled(text, &closed));
        let values: Vec<Value> = open.names().iter().map(|n| of_name(n)).collect();
        let values: Vec<&Value> = values.iter().collect();
        let expected = closed.run(&values).unwrap();
        assert!(open.kind().takes(expected.kind()), "{text}: {}", open.kind());
        // The second time the program is there.
        for _ in 0..2 {
            assert_eq!(open.run(&values).unwrap(), expected, "{text}");
        }
        let bound = open.for_query(&values).unwrap();
        assert_eq!(bound.kind(), expected.kind(), "{text}");
    }
}

#[test]
fn one_expression_takes_values_of_any_size() {
    let expression = compiled("sum(a * a) + concat(a, a, x){x:0}", &[("a", A)]);
    for size in (1..40).chain([1, 7, 39]) {
        let numbers: Vec<String> = (1..=size).map(|n| n.to_string()).collect();
        let a = value(&format!("tensor<float>(x[{size}]):[{}]", numbers.join(",")));
        let squares = (1..=size).map(|n| f64::from(n * n)).sum::<f64>();
        assert_eq!(expression.run(&[&a]).unwrap(), Value::double(squares + 1.0));
    }
}

#[test]
fn kernels_are_chosen_when_the_sizes_are_known() {
    let expression = compiled("sum(a * d)", &[("a", A), ("d", B)]);
    assert!(expression.lines().iter().all(|line| line.fused.is_none()));
    let cells = [1.0_f32, 2.0, 3.0, 0.0, 0.0, 1.0];
    let attributes = [Attribute::Dense { cells: Cells::Float((&cells[..]).into()), stride: 3 }];
    let documents = Documents { count: 2, index: None, attributes: &attributes };
    let a = value("tensor<float>(x[3]):[10,1,1]");
    let explained = expression.explain(&[&a], &documents).unwrap();
    assert!(explained.lines.iter().any(|line| line.fused == Some("dot product")));
    let mut scores = Vec::new();
    let bound = expression.for_query(&[&a]).unwrap();
    bound.scores(&documents, &mut Scratch::default(), &mut scores).unwrap();
    assert_eq!(scores, [15.0, 1.0]);
}

#[test]
fn sizes_that_do_not_fit_are_told_when_they_are_known() {
    let kinds = [("a", A), ("b", B), ("c", A), ("d", B)];
    for (text, values, message) in [
        (
            "sum(a * b)",
            &["tensor<float>(x[2]):[1,2]", "tensor<float>(x[3]):[1,2,3]"][..],
            "* of a, b: dimension x differs: tensor<float>(x[2]) and tensor<float>(x[3])",
        ),
        (
            "a + c",
            &["tensor<float>(x[2]):[1,2]", "tensor<float>(x[1]):[1]"],
            "+ of a, c: dimension x differs: tensor<float>(x[2]) and tensor<float>(x[1])",
        ),
        (
            "merge(a, c, f(p,q)(p))",
            &["tensor<float>(x[2]):[1,2]", "tensor<float>(x[1]):[1]"],
            "merge of a, c: the dimensions differ: tensor<float>(x[2]) and tensor<float>(x[1])",
        ),
        (
            "a{x:2}",
            &["tensor<float>(x[2]):[1,2]"],
            "a part of a: 2 is no index of dimension x of tensor<float>(x[2])",
        ),
        (
            "map_subspaces(a * 1, f(t)(t * tensor(x[3])(x)))",
            &["tensor<float>(x[2]):[1,2]"],
            "map_subspaces of a: dimension x differs: tensor<float>(x[2]) and tensor(x[3])",
        ),
        ("a * 2", &["tensor(x[2]):[1,2]"], "a is a tensor<float>(x[]), got a tensor(x[2])"),
        (
            "a * 2",
            &["tensor<float>(y[2]):[1,2]"],
            "a is a tensor<float>(x[]), got a tensor<float>(y[2])",
        ),
    ] {
        let values: Vec<Value> = values.iter().map(|v| value(v)).collect();
        let values: Vec<&Value> = values.iter().collect();
        let error = compiled(text, &kinds).run(&values).unwrap_err();
        assert_eq!(error.to_string(), message, "{text}");
    }
    let expression = compiled("sum(a * d)", &kinds);
    let error = expression.for_query(&[&value("tensor<float>(x[4]):[1,2,3,4]")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "* of a, d: dimension x differs: tensor<float>(x[4]) and tensor<float>(x[3])"
    );
}

#[test]
fn what_needs_a_size_is_refused_when_it_is_compiled() {
    let scope = |name: &str| match name {
        "a" => Some((parse_type(A).unwrap(), Rate::Query)),
        "m" => Some((parse_type("tensor(x{})").unwrap(), Rate::Query)),
        "d" => Some((parse_type(A).unwrap(), Rate::Document)),
        _ => None,
    };
    for (text, message) in [
        (
            "tensor(x[])(x)",
            "1:1: tensor: the size of dimension x of tensor(x[]) is not known; a tensor that is written out needs it",
        ),
        (
            "1 + sum(tensor<float>(k{},x[]):{a:[1]})",
            "1:9: tensor: the size of dimension x of tensor<float>(k{},x[]) is not known; a tensor that is written out needs it",
        ),
        ("a + m", "1:3: +: dimension x differs: tensor<float>(x[]) and tensor(x{})"),
        (
            "a{x:b}",
            "1:2: a place along an indexed dimension takes an index that is there, got \"b\"",
        ),
        ("d", "1:1: unknown name d"),
    ] {
        assert_eq!(compile(text, &scope).unwrap_err().to_string(), message, "{text}");
    }
}
