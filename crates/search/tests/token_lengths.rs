//! Networks over padded token ids run on as many as there are, where that changes nothing.
#![allow(clippy::unwrap_used)]

use stead_expr::{Cells, Stored, parse_type};
use stead_onnx::{ModelBuilder, ValueType, dims_of};
use stead_search::models::{Column, Documents, Scratch};
use stead_tensor::{DType, Tensor};

use crate::harness::Package;

const LENGTH: usize = 32;

/// The mean of ids where the mask is 1, or of all.
fn mean(is_masked: bool) -> Vec<u8> {
    let typed = |dtype, dims: &[&str]| ValueType::tensor(dtype, Some(dims_of(dims)));
    let model = ModelBuilder::new(17)
        .input_of("ids", typed(DType::I64, &["batch", "length"]))
        .input_of("mask", typed(DType::I64, &["batch", "length"]))
        .init("axis", Tensor::from_slice(&[1i64], &[1]).unwrap())
        .node("Cast", &["ids"], &["numbers"])
        .attr("to", 1)
        .node("Cast", &["mask"], &["present"])
        .attr("to", 1);
    let model = match is_masked {
        true => model
            .node("Mul", &["numbers", "present"], &["kept"])
            .node("ReduceSum", &["kept", "axis"], &["sum"])
            .node("ReduceSum", &["present", "axis"], &["count"])
            .node("Div", &["sum", "count"], &["score"]),
        false => model
            .node("Add", &["numbers", "present"], &["both"])
            .node("ReduceSum", &["both", "axis"], &["sum"])
            .node("Shape", &["ids"], &["shape"])
            .node("Cast", &["shape"], &["sizes"])
            .attr("to", 1)
            .node("ReduceMax", &["sizes"], &["size"])
            .node("Div", &["sum", "size"], &["score"]),
    };
    model.output_of("score", typed(DType::F32, &["batch", "1"])).bytes()
}

#[test]
fn what_is_padded_is_left_out_where_it_changes_nothing() {
    let kind = format!("tensor<float>(d0[1],d1[{LENGTH}])");
    for (is_masked, expected) in [(true, true), (false, false)] {
        let profile = "onnx-model m {\n file: files/m.onnx\n input ids: attribute(ids)\n input mask: attribute(mask)\n \
                       output score: score\n}\nfirst-phase { expression: sum(onnx(m).score) }";
        let bytes = mean(is_masked);
        let fields = [("ids", kind.as_str()), ("mask", kind.as_str())];
        let model = Package::new(&fields, profile, &[("files/m.onnx", &bytes)]).model().unwrap();
        let explained = model.explain().join("; ");
        assert_eq!(
            explained.contains("as many tokens as texts have, of 32"),
            expected,
            "{explained}"
        );

        // Lengths in no order.
        let lengths = [5, 32, 1, 17, 6, 30, 5, 12];
        let (mut ids, mut mask) = (Vec::new(), Vec::new());
        for (row, length) in lengths.iter().enumerate() {
            ids.extend(
                (0..LENGTH).map(|at| if at < *length { (row * 7 + at) as f64 } else { 0.0 }),
            );
            mask.extend((0..LENGTH).map(|at| f64::from(u8::from(at < *length))));
        }
        let column = |numbers: &[f64]| {
            let kind = parse_type(&kind).unwrap();
            let cells = Cells::from_numbers(kind.cell(), numbers);
            Stored::dense(kind, cells).unwrap()
        };
        let (of_ids, of_mask) = (column(&ids), column(&mask));
        let columns: Vec<Column<'_>> = model
            .document_names()
            .map(|(name, _)| {
                Column::Cells(if name.contains("ids") {
                    of_ids.attribute()
                } else {
                    of_mask.attribute()
                })
            })
            .collect();
        let documents = Documents { count: lengths.len(), index: None, columns: &columns };
        let bound = model.for_query(&[]).unwrap();
        let found = bound.run(&documents, &mut Scratch::default()).unwrap();
        let found: Vec<f64> = found[0].values().iter().map(|v| v.cells().doubles()[0]).collect();
        for (row, length) in lengths.iter().enumerate() {
            let sum: f64 = ids[row * LENGTH..][..LENGTH].iter().sum();
            let expected = match is_masked {
                true => sum / *length as f64,
                false => (sum + *length as f64) / LENGTH as f64,
            };
            assert!((found[row] - expected).abs() < 1e-4, "{row}: {} {expected}", found[row]);
        }
    }
}
