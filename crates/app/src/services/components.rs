//! Components of containers: embedders and tokenizers by type; Java classes by name only.

use super::ServicesOptions;
use crate::package::{Place, Report};
use crate::xml::XmlElement;

/// A component.
#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    /// Its id, by which scripts and queries know it.
    pub id: String,
    /// What it is.
    pub kind: ComponentKind,
    /// Where it is written.
    pub place: Place,
    /// What it is given.
    pub parameters: Vec<Parameter>,
}

/// What a component is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ComponentKind {
    /// `hugging-face-embedder`
    HuggingFaceEmbedder,
    /// `hugging-face-tokenizer`
    HuggingFaceTokenizer,
    /// `bert-embedder`
    BertEmbedder,
    /// `colbert-embedder`
    ColbertEmbedder,
    /// `splade-embedder`
    SpladeEmbedder,
    /// `image-embedder`, which Vespa does not have.
    ImageEmbedder,
    /// How text is analysed; stead has one way.
    Linguistics(String),
    /// A Java class.
    Java {
        /// The class.
        class: String,
        /// The bundle that it is in.
        bundle: String,
    },
}

/// A setting of a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its attributes, such as the `path` of a model.
    pub attributes: Vec<(String, String)>,
    /// Its text.
    pub text: String,
    /// The settings within it.
    pub children: Vec<Parameter>,
    /// Where it is written.
    pub place: Place,
}

/// The types of components that are known, with their parameters.
const TYPES: [(&str, ComponentKind, &[&str]); 6] = [
    (
        "hugging-face-embedder",
        ComponentKind::HuggingFaceEmbedder,
        &[
            "transformer-model",
            "tokenizer-model",
            "max-tokens",
            "transformer-input-ids",
            "transformer-attention-mask",
            "transformer-token-type-ids",
            "transformer-output",
            "pooling-strategy",
            "normalize",
            "prepend",
        ],
    ),
    ("hugging-face-tokenizer", ComponentKind::HuggingFaceTokenizer, &["model"]),
    (
        "bert-embedder",
        ComponentKind::BertEmbedder,
        &[
            "transformer-model",
            "tokenizer-vocab",
            "max-tokens",
            "transformer-input-ids",
            "transformer-attention-mask",
            "transformer-token-type-ids",
            "transformer-output",
            "transformer-start-sequence-token",
            "transformer-end-sequence-token",
            "pooling-strategy",
        ],
    ),
    (
        "colbert-embedder",
        ComponentKind::ColbertEmbedder,
        &[
            "transformer-model",
            "tokenizer-model",
            "max-tokens",
            "max-query-tokens",
            "max-document-tokens",
            "transformer-input-ids",
            "transformer-attention-mask",
            "transformer-mask-token",
            "transformer-start-sequence-token",
            "transformer-end-sequence-token",
            "transformer-pad-token",
            "query-token-id",
            "document-token-id",
            "transformer-output",
            "attend-to-expansion-tokens",
        ],
    ),
    (
        "splade-embedder",
        ComponentKind::SpladeEmbedder,
        &[
            "transformer-model",
            "tokenizer-model",
            "max-tokens",
            "transformer-input-ids",
            "transformer-attention-mask",
            "transformer-token-type-ids",
            "transformer-output",
            "term-score-threshold",
        ],
    ),
    (
        "image-embedder",
        ComponentKind::ImageEmbedder,
        &[
            "image-model",
            "preprocessor-config",
            "image-input",
            "image-output",
            "resize",
            "resample",
            "crop",
            "rescale",
            "mean",
            "std",
            "pooling-strategy",
            "normalize",
            "max-pixels",
        ],
    ),
];

/// Parameters of everything that runs an ONNX model.
const ONNX: [&str; 10] = [
    "onnx-backend",
    "onnx-execution-mode",
    "onnx-interop-threads",
    "onnx-intraop-threads",
    "onnx-gpu-device",
    "onnx-optimize-model",
    "onnx-precision",
    "batching",
    "concurrency",
    "model-config-override",
];

/// What Vespa brings with it for the analysis of text.
const LINGUISTICS: [&str; 4] =
    ["LuceneLinguistics", "OpenNlpLinguistics", "SimpleLinguistics", "ChineseLinguistics"];

impl Component {
    /// Whether it makes tensors of texts or images.
    #[must_use]
    pub fn is_embedder(&self) -> bool {
        !matches!(self.kind, ComponentKind::Linguistics(_) | ComponentKind::Java { .. })
    }

    /// The parameters that name the file of a model, tokenizer or vocabulary; none of a Java class.
    pub fn models(&self) -> impl Iterator<Item = &Parameter> {
        const NAMES: [&str; 6] = [
            "transformer-model",
            "tokenizer-model",
            "tokenizer-vocab",
            "model",
            "image-model",
            "preprocessor-config",
        ];
        let parameters = self.parameters.iter().filter(|_| self.is_embedder());
        parameters.filter(|p| NAMES.contains(&p.name.as_str()))
    }
}

/// Reads a component; nothing if it is one that is left out.
pub(super) fn read(
    element: &XmlElement,
    options: ServicesOptions,
    report: &mut Report,
) -> Option<Component> {
    let id = element.attribute("id").or(element.attribute("class")).unwrap_or_default().to_owned();
    let place = element.place.clone();
    let Some(kind) = element.attribute("type") else {
        return java(element, id, options, report);
    };
    let Some((_, kind, known)) = TYPES.iter().find(|(name, ..)| *name == kind) else {
        let names: Vec<&str> = TYPES.iter().map(|(name, ..)| *name).collect();
        let text = format!(
            "component {id} of type {kind} is not supported; supported are {}",
            names.join(", ")
        );
        refuse(&super::place_of(element, "type"), text, options, report);
        return None;
    };
    let parameters: Vec<Parameter> = element.children.iter().map(parameter).collect();
    for parameter in &parameters {
        let name = parameter.name.as_str();
        if !known.contains(&name) && !ONNX.contains(&name) {
            let text = format!("parameter {name} of component {id} is not known and has no effect");
            report.warning(&parameter.place, text);
        }
    }
    let component = Component { id, kind: kind.clone(), place, parameters };
    for model in component.models() {
        let has = |name: &str| model.attribute(name).is_some();
        if has("model-id") && !has("path") && !has("url") {
            let text = format!(
                "{} of component {} has a model-id of Vespa's cloud only; give a path or url",
                model.name, component.id
            );
            report.error(&model.place, text);
        }
    }
    Some(component)
}

/// A component that names a Java class, or has one as its id.
pub(super) fn java(
    element: &XmlElement,
    id: String,
    options: ServicesOptions,
    report: &mut Report,
) -> Option<Component> {
    let class = element.attribute("class").unwrap_or(&id);
    let class = class.split(['@', ':']).next().unwrap_or(class).to_owned();
    let bundle = element.attribute("bundle").unwrap_or_default().to_owned();
    let place = element.place.clone();
    let parameters = element.children.iter().map(parameter).collect();
    let short = class.rsplit('.').next().unwrap_or(&class);
    if LINGUISTICS.contains(&short) {
        let text = format!("{class} has no effect: stead analyses text in its own way");
        report.warning(&place, text);
        return Some(Component { id, kind: ComponentKind::Linguistics(class), place, parameters });
    }
    let advice = match element.name.as_str() {
        "component" | "handler" | "searcher" | "documentprocessor" => {
            "; python=\"module:Class\" in its place names a class in Python"
        }
        _ => "",
    };
    let of = if bundle.is_empty() { String::new() } else { format!(" of bundle {bundle}") };
    let text =
        format!("{} {id} is the Java class {class}{of}, which stead does not run", element.name);
    refuse(&place, format!("{text}{advice}"), options, report);
    options.ignore_components.then_some(Component {
        id,
        kind: ComponentKind::Java { class, bundle },
        place,
        parameters,
    })
}

fn refuse(place: &Place, text: String, options: ServicesOptions, report: &mut Report) {
    if options.ignore_components {
        report.warning(place, text);
    } else {
        report.error(place, format!("{text}; --ignore-components leaves it out"));
    }
}

fn parameter(element: &XmlElement) -> Parameter {
    // As deep as the file nests, which has a limit.
    Parameter {
        name: element.name.clone(),
        attributes: element.attributes.iter().map(|(n, v)| (n.clone(), v.value.clone())).collect(),
        text: element.text.clone(),
        children: element.children.iter().map(parameter).collect(),
        place: element.place.clone(),
    }
}
