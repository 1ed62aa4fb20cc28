//! The settings of embedders: which files they are made of, and what they do (facts: Vespa, `configdefinitions/src/vespa/*-embedder.def`).

use super::components::{Component, ComponentKind, Parameter};
use super::tokenizers::TokenizerSettings;
use crate::BackendKind;
use crate::package::{Located, PackageFiles, Report};
use stead_tensor::Precision;

/// How a component makes tensors of texts.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbedderSettings {
    /// How texts become ids.
    pub tokenizer: TokenizerSettings,
    /// The tokenizers for texts of some languages, by their tags.
    pub by_language: Vec<(String, TokenizerSettings)>,
    /// What it does with them.
    pub form: EmbedderForm,
}

/// What an embedder does with the ids of a text.
#[derive(Debug, Clone, PartialEq)]
pub enum EmbedderForm {
    /// They are its tensor.
    Tokens,
    /// A model gives one vector.
    Dense {
        /// The model.
        model: EmbedderModel,
        /// How the vectors of tokens become one.
        pooling: PoolingStrategy,
        /// Whether it is made to have length 1.
        normalize: bool,
        /// What stands before texts of queries.
        prepend_query: String,
        /// What stands before texts of documents.
        prepend_document: String,
        /// Whether the model attends to ids above 0 only, and not to all of them: `bert-embedder`.
        masks_zero: bool,
    },
    /// A model gives a vector for each token.
    Colbert {
        /// The model.
        model: EmbedderModel,
        /// The most ids of a query.
        max_query_tokens: usize,
        /// The most ids of a document.
        max_document_tokens: usize,
        /// The first id.
        start: u32,
        /// The last id.
        end: u32,
        /// What stands behind a query until it has its length.
        mask: u32,
        /// The second id of a query.
        query: u32,
        /// The second id of a document.
        document: u32,
        /// Whether masks have vectors too.
        emits_masks: bool,
    },
    /// A model gives weights for the words of its vocabulary.
    Splade {
        /// The model.
        model: EmbedderModel,
        /// What weights must be above.
        threshold: f64,
    },
}

/// The model of an embedder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbedderModel {
    /// Its file, from the root of the package.
    pub file: Located<String>,
    /// The name of the input of ids.
    pub input_ids: String,
    /// That of the attention mask.
    pub attention_mask: String,
    /// That of the types of ids; nothing if it has none.
    pub token_type_ids: Option<String>,
    /// Whether the mask and the types may be missing, as with models of one or two inputs.
    pub is_lenient: bool,
    /// The name of the output.
    pub output: String,
    /// As `onnx-intraop-threads` says: so many, or for negative ones so many-th of the cores.
    pub threads: Option<i32>,
    /// As `onnx-precision` says.
    pub precision: Precision,
    /// As `onnx-backend` says.
    pub backend: BackendKind,
}

/// How the vectors of tokens become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)] // The names tell.
pub enum PoolingStrategy {
    #[default]
    Mean,
    Cls,
    None,
}

impl EmbedderForm {
    /// The model; none where ids are all.
    #[must_use]
    pub fn model(&self) -> Option<&EmbedderModel> {
        match self {
            EmbedderForm::Tokens => None,
            EmbedderForm::Dense { model, .. }
            | EmbedderForm::Colbert { model, .. }
            | EmbedderForm::Splade { model, .. } => Some(model),
        }
    }
}

impl Component {
    /// What it does as an embedder; nothing if it is none or a setting is wrong, which is reported.
    #[must_use]
    pub fn embedder(&self, files: &PackageFiles, report: &mut Report) -> Option<EmbedderSettings> {
        let errors = report.errors().count();
        let tokenizer = self.tokenizer(files, report)?;
        let by_language = self.tokenizers_by_language(files, report);
        let form = match self.kind {
            ComponentKind::HuggingFaceTokenizer => EmbedderForm::Tokens,
            ComponentKind::HuggingFaceEmbedder => EmbedderForm::Dense {
                model: self.model(true, "last_hidden_state", files, report)?,
                pooling: self.pooling(true, report)?,
                normalize: self.flag("normalize", false, report)?,
                prepend_query: self.prepended("query"),
                prepend_document: self.prepended("document"),
                masks_zero: false,
            },
            ComponentKind::BertEmbedder => EmbedderForm::Dense {
                model: self.model(false, "output_0", files, report)?,
                pooling: self.pooling(false, report)?,
                normalize: false,
                prepend_query: String::new(),
                prepend_document: String::new(),
                masks_zero: true,
            },
            ComponentKind::ColbertEmbedder => {
                let most = self.number("max-tokens", 512, report)? as usize;
                let mut limit = |name, default| -> Option<usize> {
                    let limit = (self.number(name, default, report)? as usize).min(most);
                    if limit < 3 {
                        let text = format!(
                            "{name} of component {} must be 3 or more: a text stands between three ids",
                            self.id
                        );
                        report.error(&self.place, text);
                        return None;
                    }
                    Some(limit)
                };
                EmbedderForm::Colbert {
                    max_query_tokens: limit("max-query-tokens", 32)?,
                    max_document_tokens: limit("max-document-tokens", 512)?,
                    model: EmbedderModel {
                        token_type_ids: None,
                        ..self.model(false, "contextual", files, report)?
                    },
                    start: self.number("transformer-start-sequence-token", 101, report)?,
                    end: self.number("transformer-end-sequence-token", 102, report)?,
                    mask: self.number("transformer-mask-token", 103, report)?,
                    query: self.number("query-token-id", 1, report)?,
                    document: self.number("document-token-id", 2, report)?,
                    emits_masks: self.flag("attend-to-expansion-tokens", true, report)?,
                }
            }
            ComponentKind::SpladeEmbedder => EmbedderForm::Splade {
                model: self.model(false, "logits", files, report)?,
                threshold: self.decimal("term-score-threshold", 0.0, report)?,
            },
            ComponentKind::ImageEmbedder
            | ComponentKind::Linguistics(_)
            | ComponentKind::Java { .. } => return None,
        };
        self.ineffective(report);
        let found = EmbedderSettings { tokenizer, by_language, form };
        (report.errors().count() == errors).then_some(found)
    }

    fn model(
        &self,
        is_lenient: bool,
        output: &str,
        files: &PackageFiles,
        report: &mut Report,
    ) -> Option<EmbedderModel> {
        let Some(model) = self.parameter("transformer-model") else {
            let text = format!("component {} has no transformer-model", self.id);
            report.error(&self.place, text);
            return None;
        };
        let file = self.file(model, files, report)?;
        let name = |parameter: &str, default: &str| {
            let text = self.parameter(parameter).map(|p| p.text.trim());
            text.unwrap_or(default).to_owned()
        };
        let types = name("transformer-token-type-ids", "token_type_ids");
        let threads = self.threads(report)?;
        let (precision, backend) = self.precision(report)?;
        Some(EmbedderModel {
            file,
            input_ids: name("transformer-input-ids", "input_ids"),
            attention_mask: name("transformer-attention-mask", "attention_mask"),
            token_type_ids: Some(types).filter(|name| !name.is_empty()),
            is_lenient,
            output: name("transformer-output", output),
            threads,
            precision,
            backend,
        })
    }

    /// `onnx-intraop-threads`, where it is said.
    pub(super) fn threads(&self, report: &mut Report) -> Option<Option<i32>> {
        let Some(given) = self.parameter("onnx-intraop-threads") else { return Some(None) };
        let found = given.text.trim().parse().ok();
        if found.is_none() {
            self.expected("a whole number", given, report);
        }
        found.map(Some)
    }

    /// `onnx-precision`, f32 where it is not said, and `onnx-backend`, which must compute in it.
    pub(super) fn precision(&self, report: &mut Report) -> Option<(Precision, BackendKind)> {
        let mut precision = Precision::F32;
        if let Some(given) = self.parameter("onnx-precision") {
            match given.text.trim().parse() {
                Ok(found) => precision = found,
                Err(_) => {
                    self.expected("f32, bf16, f64 or int8", given, report);
                    return None;
                }
            }
        }
        let Some(given) = self.parameter("onnx-backend") else {
            return Some((precision, BackendKind::Stead));
        };
        let Some(backend) = BackendKind::from_name(given.text.trim()) else {
            self.expected("stead or onnxruntime", given, report);
            return None;
        };
        match backend.takes(precision) {
            Ok(()) => Some((precision, backend)),
            Err(text) => {
                report.error(&given.place, format!("component {}: {text}", self.id));
                None
            }
        }
    }

    fn pooling(&self, has_none: bool, report: &mut Report) -> Option<PoolingStrategy> {
        let Some(given) = self.parameter("pooling-strategy") else {
            return Some(PoolingStrategy::Mean);
        };
        match given.text.trim() {
            "mean" => Some(PoolingStrategy::Mean),
            "cls" => Some(PoolingStrategy::Cls),
            "none" if has_none => Some(PoolingStrategy::None),
            _ => {
                let expected = if has_none { "mean, cls or none" } else { "mean or cls" };
                self.expected(expected, given, report);
                None
            }
        }
    }

    pub(super) fn flag(&self, name: &str, default: bool, report: &mut Report) -> Option<bool> {
        let Some(given) = self.parameter(name) else { return Some(default) };
        let found = given.text.trim().to_ascii_lowercase().parse().ok();
        if found.is_none() {
            self.expected("true or false", given, report);
        }
        found
    }

    fn decimal(&self, name: &str, default: f64, report: &mut Report) -> Option<f64> {
        let Some(given) = self.parameter(name) else { return Some(default) };
        let found: Option<f64> = given.text.trim().parse().ok().filter(|n: &f64| n.is_finite());
        if found.is_none() {
            self.expected("a number", given, report);
        }
        found
    }

    /// The text that stands before those of queries or documents; blanks alone are none.
    fn prepended(&self, name: &str) -> String {
        let within =
            self.parameter("prepend").and_then(|p| p.children.iter().find(|c| c.name == name));
        let text = within.map(|p| p.text.as_str()).filter(|text| !text.trim().is_empty());
        text.unwrap_or_default().to_owned()
    }

    pub(super) fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|p| p.name == name)
    }

    pub(super) fn expected(&self, what: &str, found: &Parameter, report: &mut Report) {
        let (name, text) = (&found.name, found.text.trim());
        let text = format!("expected {what} for {name} of component {}, found {text}", self.id);
        report.error(&found.place, text);
    }

    /// Tells which settings of other machines and engines change nothing.
    pub(super) fn ineffective(&self, report: &mut Report) {
        let is_other = self.parameter("onnx-backend").is_some_and(|p| p.text.trim() != "stead");
        for given in &self.parameters {
            let why = match given.name.as_str() {
                "onnx-gpu-device" if given.text.trim() != "-1" => "models run on the CPU",
                "onnx-execution-mode" if given.text.trim() == "parallel" => {
                    "steps run one after the other, each on all threads"
                }
                "onnx-intraop-threads" if is_other => "other back ends compute a run on one thread",
                "batching" => "texts that wait at the same time are always embedded together",
                "concurrency" => "one run at a time uses all threads",
                "model-config-override" | "onnx-optimize-model" => {
                    "the engine has no such settings"
                }
                _ => continue,
            };
            let text = format!("{} of component {} has no effect: {why}", given.name, self.id);
            report.warning(&given.place, text);
        }
    }
}

#[cfg(test)]
mod tests;
