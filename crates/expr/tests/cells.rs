//! Cells of every type: through every encoding, through every function, and what does not fit in them.
#![allow(clippy::unwrap_used)]

use half::{bf16, f16};
use stead_expr::codec::binary::{decode, encode};
use stead_expr::codec::json::{Form, from_json, to_json};
use stead_expr::{
    CELL_TYPES, CellType, Cells, Labels, Rate, Scope, TensorType, Value, compile, parse_type,
};

/// Numbers that look random and are the same each time (xorshift, Marsaglia 2003).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Any bits that the type has.
fn any_cells(random: &mut Random, cell: CellType, count: usize) -> Cells<'static> {
    let bits: Vec<u64> = (0..count)
        .map(|_| match random.next() % 6 {
            0 => 0,
            1 => u64::MAX,
            2 => 1 << 63 | 1 << 31 | 1 << 15 | 1 << 7,
            _ => random.next(),
        })
        .collect();
    let bits = bits.iter();
    match cell {
        CellType::Double => Cells::Double(bits.map(|b| f64::from_bits(*b)).collect()),
        CellType::Float => Cells::Float(bits.map(|b| f32::from_bits(*b as u32)).collect()),
        CellType::BFloat16 => Cells::BFloat16(bits.map(|b| bf16::from_bits(*b as u16)).collect()),
        CellType::Int8 => Cells::Int8(bits.map(|b| *b as i8).collect()),
        CellType::Float16 => Cells::Float16(bits.map(|b| f16::from_bits(*b as u16)).collect()),
        CellType::Int16 => Cells::Int16(bits.map(|b| *b as i16).collect()),
        CellType::Int32 => Cells::Int32(bits.map(|b| *b as i32).collect()),
        CellType::Int64 => Cells::Int64(bits.map(|b| *b as i64).collect()),
        CellType::UInt8 => Cells::UInt8(bits.map(|b| *b as u8).collect()),
        CellType::Bool => Cells::Bool(bits.map(|b| (*b & 1) as u8).collect()),
    }
}

/// A value of a type with some labels.
fn any_value(random: &mut Random, kind: &TensorType) -> Value {
    let blocks = if kind.is_dense() { 1 } else { random.next() as usize % 4 };
    let mut labels = Labels::default();
    for block in 0..blocks {
        (0..kind.mapped_count()).for_each(|at| labels.push(&format!("l{block} {at}")));
    }
    let cells = any_cells(random, kind.cell(), blocks * kind.block_size());
    Value::new(kind.clone(), labels, cells).unwrap()
}

const FORMS: [Form; 6] =
    [Form::Short, Form::Long, Form::Hex, Form::ShortValue, Form::LongValue, Form::HexValue];

const DIMENSIONS: [&str; 7] =
    ["x[3]", "x[2],y[3]", "x{}", "x{},y[2]", "a{},x{}", "a{},x{},y[2]", "a[1],x{},y[2],z[2]"];

#[test]
fn every_encoding_gives_back_what_it_was_given() {
    let nothing = |_: &str| -> Option<(TensorType, Rate)> { None };
    let mut random = Random(0x5eed);
    for (cell, _) in CELL_TYPES {
        for dimensions in DIMENSIONS {
            let kind = parse_type(&format!("tensor<{cell}>({dimensions})")).unwrap();
            for round in 0..40 {
                let value = any_value(&mut random, &kind);
                let text = || format!("{value} in round {round}");
                assert_eq!(decode(&encode(&value)).as_ref(), Ok(&value), "{}", text());
                for form in FORMS {
                    let json = to_json(&value, form).to_string();
                    let json = serde_json::from_str(&json).unwrap();
                    assert_eq!(from_json(&kind, &json).as_ref(), Ok(&value), "{json} {}", text());
                }
                if value.cells().doubles().iter().all(|c| c.is_finite()) {
                    let read = compile(&value.to_string(), &nothing).unwrap().run(&[]).unwrap();
                    assert_eq!(read, value);
                }
            }
        }
    }
}

/// Types of `a` and `b`; what is inexact is rounded if told so.
struct Names(TensorType, TensorType, bool);

impl Scope for Names {
    fn find(&self, name: &str) -> Option<(TensorType, Rate)> {
        match name {
            "a" => Some((self.0.clone(), Rate::Query)),
            "b" => Some((self.1.clone(), Rate::Query)),
            _ => None,
        }
    }

    fn is_rounded(&self) -> bool {
        self.2
    }
}

/// Functions that compute with the cells of `a` and `b`, which both have the dimensions `k{},x[3]`.
const COMPUTING: [&str; 17] = [
    "a + b",
    "a * b - 3",
    "b / (a + 100)",
    "max(a, b)",
    "join(a, b, f(x,y)(x * 2 + y))",
    "merge(a, b, f(x,y)(x - y))",
    "map(a, f(x)(x * x))",
    "relu(a)",
    "a in [1, 2]",
    "reduce(a, sum)",
    "reduce(a, max, k)",
    "reduce(a, median, x)",
    "sum(a * b)",
    "sum(sum(a * b, x), k)",
    "cell_order(a, max)",
    "map_subspaces(a, f(s)(sum(s) + 1))",
    "filter_subspaces(a, f(s)(sum(s) > 2)) * b",
];

/// Whole numbers that every type has, and whose sums and products floats hold.
fn small_value(random: &mut Random, kind: &TensorType) -> Value {
    let mut labels = Labels::default();
    let blocks = 1 + random.next() as usize % 3;
    (0..blocks).for_each(|block| labels.push(&(block * 2).to_string()));
    let most = if kind.cell() == CellType::Bool { 2 } else { 8 };
    let numbers: Vec<f64> = (0..blocks * 3).map(|_| (random.next() % most) as f64).collect();
    let cells = Cells::of_numbers(kind.cell(), &numbers, false).unwrap();
    Value::new(kind.clone(), labels, cells).unwrap()
}

/// What is computed from cells of a type is what is computed from the same cells of the type that arithmetic gives, which is
/// one of Vespa's.
#[test]
fn computing_is_computing_with_floats_or_doubles() {
    let mut random = Random(0xce11);
    let kind = |cell: CellType| parse_type(&format!("tensor<{cell}>(k{{}},x[3])")).unwrap();
    for (of_a, _) in CELL_TYPES {
        for (of_b, _) in CELL_TYPES {
            for text in COMPUTING {
                let own = compile(text, &Names(kind(of_a), kind(of_b), false)).unwrap();
                let wide = Names(kind(of_a.decay()), kind(of_b.decay()), false);
                let wide = compile(text, &wide).unwrap();
                assert_eq!(own.kind(), wide.kind(), "{text} of {of_a} and {of_b}");
                let (a, b) =
                    (small_value(&mut random, &kind(of_a)), small_value(&mut random, &kind(of_b)));
                let cast = |value: &Value| {
                    let cells = value.cells().clone().convert(value.kind().cell().decay(), false);
                    let mut labels = Labels::default();
                    value.labels().iter().for_each(|l| labels.push(&l.text()));
                    let kind = value.kind().map();
                    Value::new(kind, labels, cells.unwrap()).unwrap()
                };
                let (x, y) = (cast(&a), cast(&b));
                let inputs = |compiled: &stead_expr::Compiled, a: &Value, b: &Value| {
                    let of = |name: &String| if name == "a" { a.clone() } else { b.clone() };
                    compiled.names().iter().map(of).collect::<Vec<Value>>()
                };
                let of_own = inputs(&own, &a, &b);
                let of_wide = inputs(&wide, &x, &y);
                let expected = wide.run(&of_wide.iter().collect::<Vec<_>>()).unwrap();
                let found = own.run(&of_own.iter().collect::<Vec<_>>()).unwrap();
                assert_eq!(found, expected, "{text} of {a} and {b}");
            }
        }
    }
}

fn value(text: &str) -> Value {
    let nothing = |_: &str| -> Option<(TensorType, Rate)> { None };
    compile(text, &nothing).unwrap_or_else(|e| panic!("{text}: {e}")).run(&[]).unwrap()
}

/// Beyond 2^53, where doubles are rounded.
#[test]
fn cells_that_only_move_keep_every_bit() {
    for (text, same) in [
        (
            "concat(tensor<int64>(x[1]):[9007199254740993], tensor<int64>(x[1]):[-9223372036854775808], x)",
            "tensor<int64>(x[2]):[9007199254740993,-9223372036854775808]",
        ),
        (
            "concat(tensor<int64>(x[1]):[9007199254740993], tensor<int32>(x[1]):[-7], x)",
            "tensor<int64>(x[2]):[9007199254740993,-7]",
        ),
        (
            "concat(tensor<uint8>(x[1]):[255], tensor<int8>(x[1]):[-128], x)",
            "tensor<int16>(x[2]):[255,-128]",
        ),
        (
            "concat(tensor<int64>(x[1]):[9223372036854775807], 5, x)",
            "tensor<int64>(x[2]):[9223372036854775807,5]",
        ),
        (
            "tensor<int64>(x[2],y[1]):[[9007199254740993],[1]]{x:0}",
            "tensor<int64>(y[1]):[9007199254740993]",
        ),
        (
            "rename(tensor<int64>(x[2]):[9007199254740993,1], x, y)",
            "tensor<int64>(y[2]):[9007199254740993,1]",
        ),
        (
            "if(2 > 1, tensor<int64>(x{}):{a:9007199254740993}, tensor<int64>(x{}):{a:1})",
            "tensor<int64>(x{}):{a:9007199254740993}",
        ),
        (
            "cell_cast(tensor<int64>(x[2]):[32767,-32768], int16)",
            "tensor<int16>(x[2]):[32767,-32768]",
        ),
        ("cell_cast(tensor<bool>(x[2]):[true,false], int64)", "tensor<int64>(x[2]):[1,0]"),
        (
            "cell_cast(tensor(x[2]):[0.1,65504], float16)",
            "tensor<float16>(x[2]):[0.099975586,65504]",
        ),
        (
            "tensor<int64>(x[2]):{0:9007199254740993,1:(1+1)}",
            "tensor<int64>(x[2]):[9007199254740993,2]",
        ),
        ("tensor<uint8>(x[3])(x*100)", "tensor<uint8>(x[3]):[0,100,200]"),
        (
            "map_subspaces(tensor<int64>(k{},x[1]):{a:[9007199254740993]}, f(b)(rename(b,x,y)))",
            "tensor<int64>(k{},y[1]):{a:[9007199254740993]}",
        ),
        (
            "filter_subspaces(tensor<int64>(k{}):{a:9007199254740992,b:0}, f(b)(b))",
            "tensor<int64>(k{}):{a:9007199254740992}",
        ),
        ("unpack_bits(tensor<uint8>(x[1]):[129], bool)", "tensor<bool>(x[8]):[1,0,0,0,0,0,0,1]"),
        ("sum(hamming(tensor<uint8>(x[2]):[255,1], tensor<uint8>(x[2]):[0,129]))", "9"),
        (
            "tensor<int16>(x[2]):[32767,1] + tensor<int16>(x[2]):[32767,1]",
            "tensor<float>(x[2]):[65534,2]",
        ),
        ("tensor<int32>(x[1]):[2147483647] * 2", "tensor(x[1]):[4294967294]"),
        ("tensor<int64>(x[1]):[9007199254740992]{x:0}", "9007199254740992"),
    ] {
        let (found, expected) = (value(text), value(same));
        assert_eq!((found.kind(), &found), (expected.kind(), &expected), "{text}");
        assert_eq!(found.to_string(), expected.to_string(), "{text}");
    }
}

#[test]
fn what_does_not_fit_is_refused_where_it_stands() {
    let nothing = |_: &str| -> Option<(TensorType, Rate)> { None };
    for (text, message) in [
        ("1 + sum(tensor<int16>(x[2]):[1,40000])", "1:9: 40000 is no int16"),
        ("cell_cast(tensor(x[1]):[1.5], int32)", "1:1: 1.5 is no int32"),
        (
            "cell_cast(tensor<int64>(x[1]):[9007199254740993], double)",
            "1:1: 9007199254740993 is no double",
        ),
        ("cell_cast(tensor(x[1]):[16777217], float16)", "1:1: 16777217 is no float16"),
        ("cell_cast(tensor<int32>(x[1]):[16777217], float)", "1:1: 16777217 is no float"),
        ("cell_cast(tensor<int16>(x[1]):[-1], uint8)", "1:1: -1 is no uint8"),
        ("tensor<bool>(x[3])(x)", "1:1: 2 is no bool"),
        ("tensor<int64>(x[1]):[9223372036854775808]", "1:1: 9223372036854776000 is no int64"),
        ("tensor<int64>(x[1]):[9007199254740993] + 1", "1:40: 9007199254740993 is no double"),
        ("tensor<int64>(x[1]):[9007199254740993]{x:0}", "1:39: 9007199254740993 is no double"),
        ("tensor<uint8>(x[1]):[0/0]", "1:1: NaN is no uint8"),
    ] {
        assert_eq!(compile(text, &nothing).unwrap_err().to_string(), message, "{text}");
    }
    // Vespa's own types are rounded as Vespa rounds them.
    for (text, same) in [
        ("tensor<int8>(x[2]):[300,1.5]", "tensor<int8>(x[2]):[127,1]"),
        ("cell_cast(tensor(x[1]):[16777217], float)", "tensor<float>(x[1]):[16777216]"),
    ] {
        assert_eq!(value(text), value(same), "{text}");
    }
}

#[test]
fn what_does_not_fit_at_run_time_is_told_with_the_values_that_it_came_from() {
    let kinds = |a: &str, b: &str| (parse_type(a).unwrap(), parse_type(b).unwrap());
    for (a, b, text, message, rounded) in [
        (
            "tensor<int64>(x[1]):[9007199254740993]",
            "1",
            "sum(a * b, x)",
            "* of a, b: 9007199254740993 is no double",
            "9007199254740992",
        ),
        (
            "tensor(x[2]):[1,2.5]",
            "1",
            "cell_cast(a, int16)",
            "cell_cast of a: 2.5 is no int16",
            "tensor<int16>(x[2]):[1,2]",
        ),
        (
            "tensor<float>(x[1]):[3e9]",
            "1",
            "tensor<int32>(y[1])(a{x:0} * b)",
            "tensor of a, b: 3000000000 is no int32",
            "tensor<int32>(y[1]):[2147483647]",
        ),
        (
            "tensor<int64>(x[1]):[9007199254740993]",
            "1",
            "map_subspaces(a, f(s)(s + 1))",
            "map_subspaces of a: 9007199254740993 is no double",
            "tensor(x[1]):[9007199254740992]",
        ),
        (
            "tensor<int64>(x[1]):[1]",
            "0.5",
            "concat(a, b, x)",
            "concat of a, b: 0.5 is no int64",
            "tensor<int64>(x[2]):[1,0]",
        ),
    ] {
        let (a, b) = (value(a), value(b));
        let (of_a, of_b) = kinds(&a.kind().to_string(), &b.kind().to_string());
        for is_rounded in [false, true] {
            let compiled = compile(text, &Names(of_a.clone(), of_b.clone(), is_rounded)).unwrap();
            let inputs: Vec<&Value> =
                compiled.names().iter().map(|n| if n == "a" { &a } else { &b }).collect();
            let found = compiled.run(&inputs);
            match is_rounded {
                false => assert_eq!(found.unwrap_err().to_string(), message, "{text}"),
                true => assert_eq!(found.unwrap(), value(rounded), "{text}"),
            }
        }
    }
}

/// Kernels read Vespa's types only; what they compute of others is computed step by step.
#[test]
fn cells_of_other_types_are_in_no_kernel() {
    for text in ["sum(a * b)", "sum(a * b, x)", "sum(reduce(sum(a * b, x), max, k))"] {
        for (cell, is_fused) in [("float", true), ("float16", false), ("int32", false)] {
            let kinds =
                [format!("tensor<{cell}>(k{{}},x[3])"), format!("tensor<{cell}>(q{{}},x[3])")];
            let [a, b] = kinds.map(|k| parse_type(&k).unwrap());
            let b = if text == "sum(a * b)" { a.clone() } else { b };
            let compiled = compile(text, &Names(a, b, false)).unwrap();
            let fused = compiled.lines().iter().any(|line| line.fused.is_some());
            // One vector of many is no measure between many and many.
            let expected = is_fused && text != "sum(a * b, x)";
            assert_eq!(fused, expected, "{text} of {cell}");
        }
    }
}
