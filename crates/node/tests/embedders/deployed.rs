//! What a package must have for its embedders, and models of all shapes that they take.

use stead_node::{Code, EmbedInput, EmbedOutput, EmbedRequest, Embedded, Role};

use super::package::{Model, mean, package};

#[test]
fn what_does_not_fit_is_named_when_it_is_deployed() {
    let services = |inner: &str| {
        format!(
            "<services version='1.0'><container id='c' version='1.0'>{inner}</container><content id='d' version='1.0'><documents><document type='t' mode='index'/></documents></content></services>"
        )
    };
    let hf = |more: &str| {
        services(&format!(
            "<component id='e' type='hugging-face-embedder'><transformer-model path='models/m.onnx'/><tokenizer-model path='models/tokenizer.json'/>{more}</component>"
        ))
    };
    let schema = |kind: &str, script: &str| {
        format!(
            "schema t {{ document t {{ field a type string {{ indexing: index }} }} field v type {kind} {{ indexing: {script} | attribute }} }}"
        )
    };
    let plain = || schema("tensor<float>(x[16])", "input a | embed e");
    let four = &["input_ids", "attention_mask", "token_type_ids", "more"];
    for (label, services, schema, model, expected) in [
        (
            "a smaller table",
            hf(""),
            plain(),
            Model { rows: 200, ..Model::default() },
            "embedder e cannot be loaded: models/tokenizer.json does not fit models/m.onnx, which does not take its id 282",
        ),
        (
            "no such input",
            hf("<transformer-input-ids>ids</transformer-input-ids>"),
            plain(),
            Model::default(),
            "embedder e cannot be loaded: Model does not contain required input: 'ids'. Model contains: input_ids,attention_mask,token_type_ids",
        ),
        (
            "no such output",
            hf("<transformer-output>o</transformer-output>"),
            plain(),
            Model::default(),
            "embedder e cannot be loaded: Model does not contain required output: 'o'. Model contains: last_hidden_state",
        ),
        (
            "more inputs",
            hf(""),
            plain(),
            Model { inputs: four, ..Model::default() },
            "embedder e cannot be loaded: Model needs more than 3 inputs: [input_ids, attention_mask, token_type_ids, more]",
        ),
        (
            "not pooled",
            hf("<pooling-strategy>none</pooling-strategy>"),
            plain(),
            Model::default(),
            "embedder e cannot be loaded: Unexpected pooling-strategy 'none' with 3 output dimensions",
        ),
        (
            "fewer ids",
            hf(""),
            plain(),
            Model { dims: ["batch", "6"], ..Model::default() },
            "embedder e cannot be loaded: models/m.onnx takes 6 ids, and texts have up to 8; write <max-tokens>6</max-tokens>",
        ),
        (
            "wider field",
            hf(""),
            schema("tensor<float>(x[17])", "input a | embed e"),
            Model::default(),
            "schema t: field v: embed e: the model gives 16 cells, and tensor<float>(x[17]) has 17",
        ),
        (
            "more bits",
            hf(""),
            schema("tensor<int8>(x[3])", "input a | embed e"),
            Model::default(),
            "schema t: field v: embed e: Cannot pack 16 into 3 int8's",
        ),
        (
            "mapped field",
            hf(""),
            schema("tensor<float>(x{})", "input a | embed e"),
            Model::default(),
            "schema t: field v: embed e: Error in embedding to type 'tensor<float>(x{})': dimension should be indexed.",
        ),
        (
            "unknown",
            hf(""),
            schema("tensor<float>(x[16])", "input a | embed f"),
            Model::default(),
            "embed f of field v: services.xml has no such embedder; it has e",
        ),
        (
            "a number",
            hf(""),
            schema("tensor<float>(x[16])", "now | embed e"),
            Model::default(),
            "embed: This requires either a string or array<string> input type, but got long",
        ),
        (
            "no file",
            services(
                "<component id='e' type='hugging-face-embedder'><transformer-model path='models/none.onnx'/><tokenizer-model path='models/tokenizer.json'/></component>",
            ),
            plain(),
            Model::default(),
            "transformer-model of component e: the package has no file models/none.onnx",
        ),
        (
            "no model",
            services(
                "<component id='e' type='splade-embedder'><transformer-model path='models/vocab.txt'/><tokenizer-model path='models/tokenizer.json'/></component>",
            ),
            schema("tensor<float>(x{})", "input a | embed e"),
            Model::default(),
            "embedder e cannot be loaded: models/vocab.txt: ",
        ),
        (
            "no tokenizer",
            services(
                "<component id='e' type='splade-embedder'><transformer-model path='models/m.onnx'/><tokenizer-model path='models/vocab.txt'/></component>",
            ),
            schema("tensor<float>(x{})", "input a | embed e"),
            Model::default(),
            "embedder e cannot be loaded: models/vocab.txt: not a tokenizer.json of Hugging Face",
        ),
    ] {
        let (_folder, files) = package(
            &[("services.xml", &services), ("schemas/t.sd", &schema)],
            &[("models/m.onnx", model)],
        );
        let error = Embedded::in_memory(&files).map(|_| ()).unwrap_err();
        assert_eq!(error.code, Code::InvalidPackage, "{label}");
        assert!(error.to_string().contains(expected), "{label}: {error}");
    }
}

/// Models of one row, and of rows of one length, and without a mask.
#[test]
fn models_of_other_shapes_embed_the_same() {
    let services = "<container id='c' version='1.0'><component id='e' type='hugging-face-embedder'><transformer-model path='models/m.onnx'/><tokenizer-model path='models/tokenizer.json'/><max-tokens>32</max-tokens></component></container>";
    let texts = ["query", "a ranking model", "search", "how does a ranking model score the first"];
    for (label, model) in [
        ("one row", Model { dims: ["1", "seq"], ..Model::default() }),
        ("rows of one length", Model { dims: ["batch", "32"], ..Model::default() }),
        ("ids alone", Model { inputs: &["input_ids"], ..Model::default() }),
        ("ids and mask", Model { inputs: &["input_ids", "attention_mask"], ..Model::default() }),
    ] {
        let (_folder, files) = package(&[("services.xml", services)], &[("models/m.onnx", model)]);
        let node = Embedded::in_memory(&files).unwrap();
        let inputs = texts.iter().map(|text| EmbedInput::Text((*text).to_owned())).collect();
        let request = EmbedRequest {
            embedder: String::new(),
            inputs,
            role: Role::Document,
            dimensions: None,
            normalize: None,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let answer = runtime.block_on(node.embed(request)).unwrap();
        for (text, output) in texts.iter().zip(&answer.outputs) {
            let EmbedOutput::Vector(cells) = output else { panic!("{output:?}") };
            for (found, expected) in cells.iter().zip(mean(text)) {
                assert!(
                    (found - expected).abs() < 1e-5,
                    "{label}: {text}: {found} is not {expected}"
                );
            }
        }
    }
}
