//! Expressions over columns of documents.
#![allow(clippy::unwrap_used)]

use stead_expr::{
    Attribute, Cells, Documents, Label, Labels, Numbers, Rate, Scratch, Stored, TensorType, Value,
    compile, parse_type,
};

fn names(name: &str) -> Option<(TensorType, Rate)> {
    let (kind, rate) = match name {
        "q" => ("double", Rate::Query),
        "u" => ("tensor<float>(x[2])", Rate::Query),
        "n" | "m" => ("double", Rate::Document),
        "v" => ("tensor<float>(x[2])", Rate::Document),
        "t" => ("tensor<int8>(p{},x[2])", Rate::Document),
        _ => return None,
    };
    Some((parse_type(kind).unwrap(), rate))
}

fn value(text: &str) -> Value {
    compile(text, &names).unwrap().run(&[]).unwrap()
}

fn query(names: impl Iterator<Item = impl AsRef<str>>) -> Vec<Value> {
    let of_name = |name: &str| match name {
        "q" => Value::double(10.0),
        _ => value("tensor<float>(x[2]):[1,2]"),
    };
    names.map(|n| of_name(n.as_ref())).collect()
}

/// Four documents whose tensors are stored with gaps.
#[test]
fn scores_are_those_of_each_document() {
    let p: Labels = {
        let mut labels = Labels::default();
        ["1", "2", "1", "3"].iter().for_each(|t| labels.push(t));
        labels
    };
    let of_name = |name: &str| match name {
        "n" => Attribute::Numbers(Numbers::F32(&[1.0, 2.0, 3.0, 0.5])),
        "m" => Attribute::Numbers(Numbers::I64(&[-1, 0, 1 << 40, 7])),
        "v" => Attribute::Dense {
            cells: Cells::Float(
                (&[1.0, 0.0, 9.0, 0.0, 1.0, 9.0, 2.0, 2.0, 9.0, 3.0, 4.0][..]).into(),
            ),
            stride: 3,
        },
        _ => Attribute::Mixed {
            offsets: (&[0, 2, 2, 3, 4][..]).into(),
            labels: p.as_slice().into(),
            cells: Cells::Int8((&[1, 1, 2, -2, 5, 0, 0, 6][..]).into()),
        },
    };
    let mut scratch = Scratch::default();
    for (text, expected) in [
        ("7", [7.0; 4]),
        ("q * 2", [20.0; 4]),
        ("n + q", [11.0, 12.0, 13.0, 10.5]),
        ("n + m", [0.0, 2.0, 1_099_511_627_779.0, 7.5]),
        ("if(n < 2, m, 100 / n)", [-1.0, 50.0, 100.0 / 3.0, 7.0]),
        ("if(q < 2, m, n)", [1.0, 2.0, 3.0, 0.5]),
        ("sum(u * v)", [1.0, 2.0, 6.0, 11.0]),
        ("sum(v)", [1.0, 1.0, 4.0, 7.0]),
        ("v{x:1} + n", [1.0, 3.0, 5.0, 4.5]),
        ("reduce(sum(u * t, x), max, p)", [3.0, 0.0, 5.0, 12.0]),
        ("sum(t)", [2.0, 0.0, 5.0, 6.0]),
        ("t{p:1,x:0} + q", [11.0, 10.0, 15.0, 10.0]),
        ("sum(tensor(y[3])(y * n))", [3.0, 6.0, 9.0, 1.5]),
    ] {
        let compiled = compile(text, &names).unwrap_or_else(|e| panic!("{text}: {e}"));
        let values = query(compiled.query_names());
        let bound = compiled.for_query(&values.iter().collect::<Vec<_>>()).unwrap();
        let attributes: Vec<Attribute<'_>> = compiled.document_names().map(of_name).collect();
        let mut scores = vec![f64::NAN];
        for index in [None, Some(&[3, 0, 0, 2, 1][..]), Some(&[1]), Some(&[])] {
            let count = index.map_or(4, <[u32]>::len);
            let documents = Documents { count, index, attributes: &attributes };
            bound.scores(&documents, &mut scratch, &mut scores).unwrap();
            let place = |row: usize| index.map_or(row, |i| i[row] as usize);
            let expected: Vec<f64> = (0..count).map(|row| expected[place(row)]).collect();
            assert_eq!(scores, expected, "{text} {index:?}");
        }
    }
}

/// More documents than a block has, and results that are tensors.
#[test]
fn many_documents_are_done_in_blocks() {
    let count = 10_000;
    let n: Vec<f64> = (0..count).map(f64::from).collect();
    let compiled = compile("tensor<float>(x[2]):[0,1] * n + u", &names).unwrap();
    let u = value("tensor<float>(x[2]):[1,2]");
    let bound = compiled.for_query(&[&u]).unwrap();
    let documents = Documents {
        count: n.len(),
        index: None,
        attributes: &[Attribute::Numbers(Numbers::F64(&n))],
    };
    let values = bound.values(&documents, &mut Scratch::default()).unwrap();
    assert_eq!(values.len(), n.len());
    for (n, value) in n.iter().zip(&values) {
        assert_eq!(*value.cells(), Cells::Float(vec![1.0, 2.0 + *n as f32].into()));
    }
}

#[test]
fn columns_that_do_not_fit_are_refused() {
    let labels = [1, 2].map(|n| Label::number(n).unwrap());
    let numbers = Attribute::Numbers(Numbers::F64(&[1.0, 2.0]));
    let dense = |cells: &'static [f32], stride| Attribute::Dense {
        cells: Cells::Float(cells.into()),
        stride,
    };
    let mixed = |offsets: &'static [u32]| Attribute::Mixed {
        offsets: offsets.into(),
        labels: (&labels[..]).into(),
        cells: Cells::Int8((&[1, 2, 3, 4][..]).into()),
    };
    for (text, count, index, attributes, message) in [
        ("n", 2, None, vec![], "the expression needs 1 values, got 0"),
        ("v", 2, None, vec![numbers.clone()], "a score is a number, got a tensor<float>(x[2])"),
        (
            "n",
            3,
            None,
            vec![numbers.clone()],
            "the column n needs documents up to number 3, got 2 of them",
        ),
        (
            "n",
            2,
            Some(&[0, 2][..]),
            vec![numbers.clone()],
            "the column n needs documents up to number 3, got 2 of them",
        ),
        (
            "n",
            2,
            Some(&[0]),
            vec![numbers.clone()],
            "the index has the places of 1 documents instead of 2",
        ),
        ("sum(v)", 2, None, vec![numbers.clone()], "the column v needs tensors, got numbers"),
        (
            "sum(v)",
            2,
            None,
            vec![dense(&[1.0; 4], 1)],
            "the column v needs a stride of at least 2 cells, got 1",
        ),
        (
            "sum(v)",
            2,
            None,
            vec![dense(&[1.0; 4], 3)],
            "the column v needs documents up to number 2, got 1 of them",
        ),
        (
            "n",
            2,
            None,
            vec![dense(&[1.0; 4], 1)],
            "the column n needs another form, got dense tensors",
        ),
        (
            "sum(v)",
            1,
            None,
            vec![Attribute::Dense { cells: Cells::Int8((&[1, 2][..]).into()), stride: 2 }],
            "the column v needs cells of type float, got int8",
        ),
        (
            "sum(v)",
            1,
            None,
            vec![mixed(&[0, 1])],
            "the column v needs another form, got tensors with labels",
        ),
        (
            "sum(t)",
            2,
            None,
            vec![mixed(&[0, 1])],
            "the column t needs documents up to number 2, got 1 of them",
        ),
        (
            "sum(t)",
            2,
            None,
            vec![mixed(&[0, 1, 3])],
            "the column t needs blocks of document 1 among 2, got [1, 3]",
        ),
        (
            "sum(t)",
            2,
            None,
            vec![mixed(&[0, 2, 1])],
            "the column t needs blocks of document 1 among 2, got [2, 1]",
        ),
    ] {
        let bound = compile(text, &names).unwrap().for_query(&[]).unwrap();
        let documents = Documents { count, index, attributes: &attributes };
        let error = bound.scores(&documents, &mut Scratch::default(), &mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), message, "{text}");
    }
    let compiled = compile("q + n", &names).unwrap();
    assert_eq!(
        compiled.for_query(&[]).unwrap_err().to_string(),
        "the expression needs 1 values, got 0"
    );
    let wrong = value("tensor(x[2]):[1,2]");
    assert_eq!(
        compiled.for_query(&[&wrong]).unwrap_err().to_string(),
        "q is a double, got a tensor(x[2])"
    );
    let mut stored = Stored::new(TensorType::double());
    assert!(!stored.push(&wrong));
    assert!(stored.push(&Value::double(1.0)) && stored.len() == 1 && !stored.is_empty());
    assert_eq!(*stored.kind(), TensorType::double());
}

#[test]
fn a_program_explains_itself() {
    let compiled = compile("sum(u * v) + q * 2 * n + m{x:0}", &|name: &str| match name {
        "m" => names("v"),
        _ => names(name),
    })
    .unwrap();
    let texts: Vec<String> = compiled.lines().iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "%0   query     tensor<float>(x[2]) = u",
            "%1   document  tensor<float>(x[2]) = v",
            "%2   document  double = [dot product](%1, %0)",
            "%3   query     double = q",
            "%4   constant  double = 2",
            "%5   query     double = %3 * %4",
            "%6   document  double = n",
            "%7   document  tensor<float>(x[2]) = m",
            "%8   document  double = %7{x:0}",
            "%9   document  double = [weighted sum](%2, %6, %5, %8)",
        ]
    );
    let values = query(compiled.query_names());
    let cells = [1.0; 6];
    let dense = || Attribute::Dense { cells: Cells::Float((&cells[..]).into()), stride: 2 };
    let attributes = [dense(), Attribute::Numbers(Numbers::U8(&[1, 2, 3])), dense()];
    let documents = Documents { count: 3, index: None, attributes: &attributes };
    let explained = compiled.explain(&values.iter().collect::<Vec<_>>(), &documents).unwrap();
    assert_eq!(explained.lines.last().and_then(|l| l.fused), Some("weighted sum"));
    assert!(explained.lines.iter().all(|l| l.cost.is_some() == (l.rate != Rate::Constant)));
    assert_eq!(explained.to_string().matches(" ns/document\n").count(), 6);
}

/// Memory is bounded for each block, and what no document needs is not computed.
#[test]
fn a_batch_that_would_be_too_large_is_refused() {
    let many = |dimension: &str| {
        let mut labels = Labels::default();
        (0..20_000).for_each(|n: u32| labels.push(&n.to_string()));
        let kind = parse_type(&format!("tensor<int8>({dimension}{{}})")).unwrap();
        Value::new(kind, labels, Cells::zeros(stead_expr::CellType::Int8, 20_000)).unwrap()
    };
    let scope = |name: &str| match name {
        "a" => Some((many("a").kind().clone(), Rate::Query)),
        "b" => Some((many("b").kind().clone(), Rate::Document)),
        _ => names(name),
    };
    let mut stored = Stored::new(many("b").kind().clone());
    assert!(stored.push(&many("b")));
    let attributes = [stored.attribute(), Attribute::Numbers(Numbers::F64(&[1.0]))];
    let documents = Documents { count: 1, index: None, attributes: &attributes };
    for (text, expected) in [
        ("if(n > 0, 1, reduce(b * a, max))", Ok(1.0)),
        ("if(n > 1, 1, reduce(b * a, max))", Err("more than 67108864 cells")),
        ("if(n > 0, 1, reduce(a * rename(a, a, c), max) + sum(b))", Ok(1.0)),
        ("sum(b) + n * reduce(a * rename(a, a, c), max)", Err("more than 67108864 cells")),
    ] {
        let compiled = compile(text, &scope).unwrap();
        let attributes: Vec<Attribute<'_>> = compiled
            .document_names()
            .map(|name| attributes[usize::from(name == "n")].clone())
            .collect();
        let documents = Documents { attributes: &attributes, ..documents };
        let bound = compiled.for_query(&[&many("a")]).unwrap();
        let (mut scratch, mut scores) = (Scratch::default(), Vec::new());
        match (bound.scores(&documents, &mut scratch, &mut scores), expected) {
            (Ok(()), Ok(score)) => assert_eq!(scores, [score], "{text}"),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{text}: {error}"),
            (found, _) => panic!("{text}: {found:?}"),
        }
    }
}
