//! Settings of embedders with their defaults, and what is wrong with some.

use super::{EmbedderForm, EmbedderSettings, PoolingStrategy};
use crate::BackendKind;
use crate::application::Application;
use crate::package::{PackageFiles, Report};
use crate::services::{ServicesOptions, SpecialTokens};
use stead_tensor::Precision;

/// What the only component of a package does, and what there is to tell of it.
fn embedder(kind: &str, inner: &str) -> (Option<EmbedderSettings>, Vec<String>) {
    let services = format!(
        "<container version='1.0' id='c'><component id='e' type='{kind}'>{inner}</component></container>"
    );
    let files = [
        ("services.xml", services.as_str()),
        ("models/t.json", "{}"),
        ("models/v.txt", "a"),
        ("models/m.onnx", ""),
    ];
    let files = PackageFiles::from_texts(files).unwrap();
    let (application, _) = Application::read(&files, ServicesOptions::default());
    let mut report = Report::default();
    let found = application.services.containers[0].components[0].embedder(&files, &mut report);
    let told = report.diagnostics().iter().map(|d| d.text.clone()).collect();
    (found, told)
}

const MODEL: &str =
    "<transformer-model path='models/m.onnx'/><tokenizer-model path='models/t.json'/>";

fn dense(inner: &str) -> EmbedderForm {
    let (found, told) = embedder("hugging-face-embedder", &format!("{MODEL}{inner}"));
    assert_eq!(told, [""; 0], "{inner}");
    found.unwrap().form
}

#[test]
fn defaults_are_those_of_vespa() {
    let EmbedderForm::Dense {
        model,
        pooling,
        normalize,
        prepend_query,
        prepend_document,
        masks_zero,
    } = dense("")
    else {
        panic!("not dense")
    };
    assert_eq!((pooling, normalize, masks_zero), (PoolingStrategy::Mean, false, false));
    assert_eq!((prepend_query.as_str(), prepend_document.as_str()), ("", ""));
    assert_eq!(
        (model.input_ids.as_str(), model.attention_mask.as_str()),
        ("input_ids", "attention_mask")
    );
    assert_eq!(model.token_type_ids.as_deref(), Some("token_type_ids"));
    assert_eq!(
        (model.output.as_str(), model.is_lenient, model.threads),
        ("last_hidden_state", true, None)
    );

    let inner = "<transformer-model path='models/m.onnx'/><tokenizer-vocab path='models/v.txt'/>";
    let (found, told) = embedder("bert-embedder", inner);
    assert_eq!(told, [""; 0]);
    let EmbedderForm::Dense { model, masks_zero: true, normalize: false, .. } = found.unwrap().form
    else {
        panic!("not bert")
    };
    assert_eq!((model.output.as_str(), model.is_lenient), ("output_0", false));

    let (found, told) = embedder("colbert-embedder", MODEL);
    assert_eq!(told, [""; 0]);
    let found = found.unwrap();
    assert_eq!(found.tokenizer.specials, SpecialTokens::None);
    let EmbedderForm::Colbert {
        model,
        max_query_tokens,
        max_document_tokens,
        start,
        end,
        mask,
        query,
        document,
        emits_masks,
    } = found.form
    else {
        panic!("not colbert")
    };
    assert_eq!((max_query_tokens, max_document_tokens, emits_masks), (32, 512, true));
    assert_eq!((start, end, mask, query, document), (101, 102, 103, 1, 2));
    assert_eq!((model.output.as_str(), model.token_type_ids), ("contextual", None));

    let (found, told) = embedder("splade-embedder", MODEL);
    assert_eq!(told, [""; 0]);
    let EmbedderForm::Splade { model, threshold } = found.unwrap().form else {
        panic!("not splade")
    };
    assert_eq!((model.output.as_str(), threshold), ("logits", 0.0));
}

#[test]
fn settings_are_read() {
    let EmbedderForm::Dense { model, pooling, normalize, prepend_query, prepend_document, .. } = dense(
        "<transformer-input-ids>i</transformer-input-ids><transformer-attention-mask>a</transformer-attention-mask>
         <transformer-token-type-ids/><transformer-output>o</transformer-output><onnx-intraop-threads>-2</onnx-intraop-threads>
         <onnx-precision>bf16</onnx-precision>
         <pooling-strategy>cls</pooling-strategy><normalize>true</normalize>
         <prepend><query>query: </query><document> </document></prepend>",
    ) else {
        panic!("not dense")
    };
    assert_eq!((model.input_ids.as_str(), model.attention_mask.as_str()), ("i", "a"));
    assert_eq!((model.token_type_ids, model.output.as_str(), model.threads), (None, "o", Some(-2)));
    assert_eq!(model.precision, Precision::Bf16);
    assert_eq!((pooling, normalize), (PoolingStrategy::Cls, true));
    assert_eq!((prepend_query.as_str(), prepend_document.as_str()), ("query: ", ""));
}

#[test]
fn what_is_wrong_is_told() {
    let told = |kind: &str, inner: &str| {
        let (found, told) =
            embedder(kind, &format!("{MODEL}<tokenizer-vocab path='models/v.txt'/>{inner}"));
        (found.is_some(), told)
    };
    for (kind, inner, expected) in [
        (
            "hugging-face-embedder",
            "<pooling-strategy>max</pooling-strategy>",
            "expected mean, cls or none for pooling-strategy of component e, found max",
        ),
        (
            "bert-embedder",
            "<pooling-strategy>none</pooling-strategy>",
            "expected mean or cls for pooling-strategy of component e, found none",
        ),
        (
            "hugging-face-embedder",
            "<normalize>yes</normalize>",
            "expected true or false for normalize of component e, found yes",
        ),
        (
            "splade-embedder",
            "<term-score-threshold>NaN</term-score-threshold>",
            "expected a number for term-score-threshold of component e, found NaN",
        ),
        (
            "colbert-embedder",
            "<max-query-tokens>2</max-query-tokens>",
            "max-query-tokens of component e must be 3 or more: a text stands between three ids",
        ),
        (
            "splade-embedder",
            "<onnx-precision>half</onnx-precision>",
            "expected f32, bf16, f64 or int8 for onnx-precision of component e, found half",
        ),
        (
            "splade-embedder",
            "<onnx-intraop-threads>all</onnx-intraop-threads>",
            "expected a whole number for onnx-intraop-threads of component e, found all",
        ),
        (
            "splade-embedder",
            "<onnx-backend>openvino</onnx-backend>",
            "expected stead or onnxruntime for onnx-backend of component e, found openvino",
        ),
        (
            "splade-embedder",
            "<onnx-precision>int8</onnx-precision><onnx-backend>onnxruntime</onnx-backend>",
            "component e: precision int8: not with backend onnxruntime",
        ),
    ] {
        assert_eq!(told(kind, inner), (false, vec![expected.to_owned()]), "{kind} {inner}");
    }
    for (inner, backend, expected) in [
        ("<onnx-backend>stead</onnx-backend>", BackendKind::Stead, None),
        ("<onnx-backend>onnxruntime</onnx-backend>", BackendKind::OnnxRuntime, None),
        (
            "<onnx-backend>onnxruntime</onnx-backend><onnx-intraop-threads>2</onnx-intraop-threads>",
            BackendKind::OnnxRuntime,
            Some(
                "onnx-intraop-threads of component e has no effect: other back ends compute a run on one thread",
            ),
        ),
    ] {
        let inner = format!("{MODEL}<tokenizer-vocab path='models/v.txt'/>{inner}");
        let (found, told) = embedder("splade-embedder", &inner);
        let EmbedderForm::Splade { model, .. } = found.unwrap().form else { panic!("not splade") };
        assert_eq!(model.backend, backend, "{inner}");
        assert_eq!(told, expected.into_iter().collect::<Vec<_>>(), "{inner}");
    }
    let (found, told) = embedder("splade-embedder", "<tokenizer-model path='models/t.json'/>");
    assert_eq!((found, told), (None, vec!["component e has no transformer-model".to_owned()]));
    let (found, told) = embedder("splade-embedder", &format!("{MODEL}<batching max-size='4'/>"));
    assert!(found.is_some());
    let expected = "batching of component e has no effect: texts that wait at the same time are always embedded together";
    assert_eq!(told, [expected]);
}
