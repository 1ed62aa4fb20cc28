use super::{FUSIONS, fuse};
use crate::ir::{Op, Program, Rate, lower};
use crate::run::{Column, execute};
use crate::types::{TensorType, parse_type};
use crate::value::{Cells, Labels, Value};

/// The types of names, those of the query and those of documents.
const NAMES: [(&str, &str, Rate); 23] = [
    ("a", "double", Rate::Query),
    ("b", "double", Rate::Query),
    ("k", "double", Rate::Document),
    ("m", "double", Rate::Document),
    ("n", "double", Rate::Document),
    ("v", "tensor<float>(x[24])", Rate::Query),
    ("w", "tensor<float>(x[24])", Rate::Document),
    ("ww", "tensor(x[24])", Rate::Document),
    ("bw", "tensor<bfloat16>(x[24])", Rate::Document),
    ("iv", "tensor<int8>(x[24])", Rate::Query),
    ("iw", "tensor<int8>(x[24])", Rate::Document),
    ("jw", "tensor<int8>(x[3])", Rate::Document),
    ("matrix", "tensor<float>(x[24],y[5])", Rate::Query),
    ("rows", "tensor<float>(x[24],a[3],b[2])", Rate::Query),
    ("dm", "tensor<float>(x[24],z[4])", Rate::Document),
    ("s", "tensor<float>(t{})", Rate::Query),
    ("t", "tensor<int8>(t{})", Rate::Document),
    ("qt", "tensor<float>(q{},x[24])", Rate::Query),
    ("qi", "tensor<int8>(q{},x[24])", Rate::Query),
    ("qn", "tensor<bfloat16>(q[3],x[24])", Rate::Query),
    ("dt", "tensor<float>(d{},x[24])", Rate::Document),
    ("di", "tensor<int8>(d{},x[24])", Rate::Document),
    ("dj", "tensor<int8>(d{},x[3])", Rate::Document),
];

fn scope(name: &str) -> Option<(TensorType, Rate)> {
    let (_, kind, rate) = NAMES.iter().find(|(n, ..)| *n == name)?;
    Some((parse_type(kind).unwrap(), *rate))
}

/// A value of a type with `labels` labels along each mapped dimension and small whole numbers.
fn value(kind: &TensorType, labels: usize, seed: usize) -> Value {
    let mut list = Labels::default();
    (0..labels).for_each(|n| list.push(&(n * 2 + seed % 3).to_string()));
    let blocks = if kind.is_dense() { 1 } else { labels };
    let number = |at: usize| (((at + 3) * (seed + 7) * 2_654_435) % 13) as f64 - 6.0;
    let numbers: Vec<f64> = (0..blocks * kind.block_size()).map(number).collect();
    let list = if kind.is_dense() { Labels::default() } else { list };
    Value::new(kind.clone(), list, Cells::from_numbers(kind.cell(), &numbers)).unwrap()
}

fn programs(text: &str) -> (Program, Program) {
    let (plain, _) = lower(&crate::syntax::parse(text).unwrap(), &scope).unwrap();
    (plain.clone(), fuse(plain))
}

/// The names of the fused steps of a program.
fn names(program: &Program) -> Vec<&'static str> {
    let name = |op: &Op| match op {
        Op::Fused(fused) => Some(fused.name()),
        _ => None,
    };
    program.steps.iter().filter_map(|s| name(&s.op)).collect()
}

fn check(text: &str, expected: &[&str]) {
    let (plain, fused) = programs(text);
    assert_eq!(names(&fused), expected, "{text}");
    assert!(names(&plain).is_empty(), "{text}");
    for (labels_query, labels_document) in [(2, 5), (0, 3), (3, 0), (17, 40)] {
        let value = |at: usize| {
            let labels = match plain.rates[at] {
                Rate::Document => labels_document,
                _ => labels_query,
            };
            value(&plain.inputs[at], labels, at)
        };
        let values: Vec<Value> = (0..plain.inputs.len()).map(value).collect();
        let columns: Vec<Column<'_>> = values.iter().map(Column::of_value).collect();
        let result = |program: &Program| {
            execute(program, &columns).unwrap().value(&program.steps[program.result].kind, 0)
        };
        let (fused, plain) = (result(&fused), result(&plain));
        let label = format!("{text} {labels_query} {labels_document}");
        if !expected.contains(&"softmax") {
            assert_eq!(fused, plain, "{label}");
            continue;
        }
        // Powers of e are kernels of their own.
        assert_eq!((fused.kind(), fused.labels()), (plain.kind(), plain.labels()), "{label}");
        for (x, y) in fused.cells().doubles().iter().zip(plain.cells().doubles().iter()) {
            let is_near = (x - y).abs() <= 1e-6 * y.abs() || (x.is_nan() && y.is_nan());
            assert!(is_near, "{label}: {x} {y}");
        }
    }
}

#[test]
fn every_example_is_found() {
    for fusion in FUSIONS {
        let (_, fused) = programs(fusion.example);
        assert!(matches!(fused.steps[fused.result].op, Op::Fused(_)), "{}", fusion.example);
        check(fusion.example, &names(&fused));
    }
}

#[test]
fn fused_steps_compute_the_same() {
    for (text, expected) in [
        // Vectors.
        ("sum(v*w)", &["dot product"][..]),
        ("sum(w*w)", &["dot product"]),
        ("sum(v*bw)", &["dot product"]),
        ("sum(iv*bw)", &["dot product"]),
        ("sum(iv*iw)", &["dot product"]),
        ("sum(ww*iv)", &["dot product"]),
        ("sum(w*ww,x)", &["dot product"]),
        ("reduce(v*dt,sum,x)", &["dot product"]),
        ("reduce(sum(dt*v,x),max)", &["dot product"]),
        ("reduce(dt*iw,sum,x)", &["dot product"]),
        ("reduce(qn*w,sum,x)", &["dot product"]),
        ("cosine_similarity(v,w,x)", &["dot product", "dot product", "dot product"]),
        ("euclidean_distance(v,w,x)", &["squared distance"]),
        ("sum((v-bw)^2)", &["squared distance"]),
        ("sum((v-w)*(v-w))", &["squared distance"]),
        ("sum(map(dt-v,f(x)(x*x)),x)", &[]),
        ("sum(join(ww,v,f(a,b)(a-b))^2,x)", &["squared distance"]),
        ("sum(hamming(iv,w))", &[]),
        ("sum(hamming(iv,iw))", &["hamming distance"]),
        ("sum(hamming(di,iw),x)", &["hamming distance"]),
        ("sum(v*unpack_bits(jw))", &["dot product with bits"]),
        ("sum(unpack_bits(dj,int8,little)*v,x)", &["dot product with bits"]),
        ("sum(unpack_bits(jw)*qt,x)", &["dot product"]),
        // The best of many.
        ("reduce(reduce(sum(qt*dt,x),max,d),sum,q)", &["best dot product"]),
        ("sum(reduce(sum(qt*dt,x),max,d))", &["best dot product"]),
        ("reduce(reduce(reduce(qt*di,sum,x),max,d),avg)", &["best dot product"]),
        ("reduce(sum(dt*qn,x),max,d)", &["best dot product"]),
        ("sum(reduce(sum(qt*unpack_bits(dj),x),max,d))", &["best dot product with bits"]),
        (
            "sum(reduce(sum(unpack_bits(dj,float,little)*qn,x),max,d))",
            &["best dot product with bits"],
        ),
        ("sum(reduce(sum(hamming(qi,di),x),min,d))", &["best hamming distance"]),
        ("sum(reduce(1/(1+sum(hamming(qi,di),x)),max,d))", &["best hamming distance"]),
        ("reduce(1/(sum(hamming(qi,di),x)+1),min,d)", &["best hamming distance"]),
        // Products.
        ("sum(w*matrix,x)", &["matrix product"]),
        ("xw_plus_b(w,matrix,tensor<float>(y[5])(y),x)", &["matrix product"]),
        ("sum(w*rows,x)", &["matrix product"]),
        ("reduce(v*dm,sum,x)", &["matrix product"]),
        ("matmul(matrix,dm,x)", &["matrix product"]),
        ("matmul(rename(dm,z,a),matrix,x)", &["matrix product"]),
        ("matmul(rows,dm,x)", &["matrix product"]),
        ("sum(rows*rename(rows,b,c),x)", &[]),
        ("sum(matrix*ww,x)", &[]),
        // Softmax.
        ("softmax(w,x)", &["softmax"]),
        ("softmax(ww,x)", &["softmax"]),
        ("softmax(iw)", &["softmax"]),
        ("softmax(bw)", &["softmax"]),
        ("softmax(matrix)", &["softmax"]),
        ("softmax(dm,z)", &["softmax"]),
        ("softmax(rows,a,b)", &["softmax"]),
        ("softmax(rows,a)", &["softmax"]),
        ("softmax(dt,x)", &["softmax"]),
        ("softmax(w*30,x)", &["softmax"]),
        ("softmax(w*(0-30),x)", &["softmax"]),
        ("softmax(w+1000,x)", &["softmax"]),
        ("softmax(w-1000,x)", &["softmax"]),
        ("softmax(w-80,x)", &["softmax"]),
        ("softmax(rows,x,b)", &["softmax"]),
        ("softmax(rows,a,x)", &[]),
        ("softmax(dt)", &[]),
        ("softmax(s,t)", &[]),
        ("softmax(n)", &[]),
        // Sums.
        ("sum(s*t)", &["sparse dot product"]),
        ("sum(qt*qt)", &["sparse dot product"]),
        ("2*n + a*m + k", &["weighted sum"]),
        ("k + (n + m*b) + 1.5 + n*n", &["weighted sum"]),
        ("2*n - m*a - k + (n - m)", &["weighted sum"]),
        ("n - (m - (k - n*2))", &[]),
        ("k - (n + m + 1)", &["weighted sum"]),
        ("(n+m+k)*(n+m+k)", &["weighted sum"]),
        ("sum(map(w,f(x)(x*2+x*3+x*4)))", &[]),
        // What only looks like it.
        ("n + m", &[]),
        ("sum(v+w)", &[]),
        ("sum(s*v)", &[]),
        ("reduce(v*w,max)", &[]),
        ("reduce(qt*v,sum,q)", &[]),
        ("sum(reduce(sum(dt*qt,x),max,q))", &[]),
    ] {
        check(text, expected);
    }
}
