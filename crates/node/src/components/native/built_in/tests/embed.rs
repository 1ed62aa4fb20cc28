//! `embed`: that the texts of a call share a run of the model. What becomes of them is in the tests of embedders.

use stead_onnx::{ModelBuilder, ValueType, dims_of};
use stead_store::FieldValue;
use stead_tensor::{DType, Tensor};

use super::models::made_with;
use super::*;
use crate::embedders::EmbedderMeters;

/// The vector of each token has its id in all of its cells.
fn network() -> Vec<u8> {
    let table: Vec<f32> = (0..8).flat_map(|id| [id as f32; 4]).collect();
    let vectors = ValueType::tensor(DType::F32, Some(dims_of(&["batch", "tokens", "4"])));
    ModelBuilder::new(17)
        .input("input_ids", DType::I64, &["batch", "tokens"])
        .input("attention_mask", DType::I64, &["batch", "tokens"])
        .input("token_type_ids", DType::I64, &["batch", "tokens"])
        .init("table", Tensor::from_slice(&table, &[8, 4]).unwrap())
        .node("Gather", &["table", "input_ids"], &["output_0"])
        .output_of("output_0", vectors)
        .bytes()
}

#[test]
fn texts_of_one_call_are_embedded_in_one_run() {
    let services = "<component id='bert' type='bert-embedder'><transformer-model path='models/bert.onnx'/><tokenizer-vocab path='models/vocab.txt'/>
        <max-tokens>16</max-tokens><transformer-start-sequence-token>2</transformer-start-sequence-token><transformer-end-sequence-token>3</transformer-end-sequence-token></component>
        <document-processing><chain><documentprocessor type='embed'><from>title</from><to>tokens</to></documentprocessor></chain></document-processing>";
    let (meters, networks) = (EmbedderMeters::default(), [("bert", network())]);
    let processor = made_with(&networks, services, &meters, processor).unwrap();
    // `a`, `b` and `c` are 5, 6 and 7, between 2 and 3.
    let texts =
        [("a", 10.0 / 3.0), ("b c", 4.5), ("a b c", 4.6), ("", 0.0), ("c", 4.0), ("a", 10.0 / 3.0)];
    let put = |(title, _): &(&str, f32)| {
        operation(Verb::Put, &serde_json::json!({"fields": {"title": title}}).to_string())
    };
    let call = Call { deadline: Deadline::NEVER };
    let made = processor.process_all(texts.iter().map(put).collect(), &call);
    for (made, (title, mean)) in made.into_iter().zip(&texts) {
        let [made] = made.unwrap().try_into().unwrap();
        match made.get("tokens") {
            Some(FieldValue::Tensor(value)) => {
                let cells = value.cells().floats().into_owned();
                assert!(cells.iter().all(|cell| (cell - mean).abs() < 1e-5), "{title}: {cells:?}");
            }
            other => assert!(title.is_empty() && other.is_none(), "{title}: {other:?}"),
        }
    }
    let [found] = meters.metrics().try_into().unwrap();
    let counts = (found.texts, found.runs, found.tokens, found.failed, found.cache_hits);
    // The same text is embedded once.
    assert_eq!((found.id.as_str(), counts), ("bert", (5, 1, 3 + 4 + 5 + 3, 0, 0)));
    let taken = |times: &crate::Histogram| times.counts.iter().sum::<u64>();
    assert_eq!((taken(&found.queue_time_us), taken(&found.run_time_us)), (5, 1));
}
