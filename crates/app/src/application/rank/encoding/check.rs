//! Whether profiles make the rows that their models were trained on.

use std::collections::BTreeSet;

use super::row::{RowText, TokenRow};
use super::tokenizer::tokenizer_hash;
use super::{RowEncoding, TextEncoding, TextOf, script_steps};
use crate::application::Application;
use crate::application::profile::{OnnxModel, RankProfile};
use crate::application::rank::feature::FeatureName;
use crate::application::rank::uses::{ModelInput, ModelKind, ProfileModel, Source};
use crate::application::schema::Schema;
use crate::package::{PackageFiles, Report};
use crate::services::{Component, ComponentKind};

/// The arrays of training data, by the features that make the same of query and document.
const ARRAYS: [(&str, &[&str]); 3] = [
    ("input_ids", &["tokenInputIds", "customTokenInputIds"]),
    ("token_type_ids", &["tokenTypeIds"]),
    ("attention_mask", &["tokenAttentionMask"]),
];

/// Compares the models of a profile that say on what they were trained with what the profile gives them; `metadata` has what
/// the file of a model says.
pub(crate) fn check(
    application: &Application,
    files: &PackageFiles,
    (schema, profile): (&Schema, &RankProfile),
    models: &[ProfileModel],
    metadata: &dyn Fn(&OnnxModel) -> Option<String>,
    report: &mut Report,
) {
    for model in models {
        let ModelKind::Onnx(onnx) = &model.kind else { continue };
        let Some(text) = metadata(onnx) else { continue };
        let (name, place) = (&onnx.name.value, &onnx.name.place);
        let trained = match RowEncoding::from_json(&text) {
            Ok(trained) => trained,
            Err(why) => {
                let (key, path) = (super::ENCODING_KEY, &onnx.file.value);
                report.error(place, format!("{key} in the metadata of {path}: {why}"));
                continue;
            }
        };
        let features: BTreeSet<String> = model.inputs.iter().flat_map(features).collect();
        if features.is_empty() {
            let text = format!(
                "onnx-model {name} says how the rows were made that it was trained on, and none of its inputs is made by \
                 tokenInputIds: whether they are the same is not known"
            );
            report.warning(place, text);
            continue;
        }
        let row = match TokenRow::new(&features) {
            Ok(row) => row,
            Err(why) => {
                report.error(place, format!("onnx-model {name} {why}"));
                continue;
            }
        };
        let served = Served { application, files, schema, profile, row: &row };
        let inputs = model.inputs.iter().filter_map(swapped);
        for difference in served.differences(&trained).into_iter().chain(inputs) {
            let text = format!("onnx-model {name} was trained on other rows: {difference}");
            report.error(place, text);
        }
    }
}

/// The token features that an input takes.
fn features(input: &ModelInput) -> Vec<String> {
    let Source::Expression(compiled) = &input.source else { return Vec::new() };
    compiled.names().iter().filter(|n| TokenRow::is_feature(n)).map(ToString::to_string).collect()
}

/// An input with the name of an array that takes what is in another one.
fn swapped(input: &ModelInput) -> Option<String> {
    let (array, makers) = ARRAYS.iter().find(|(array, _)| *array == input.name)?;
    let features = features(input);
    let other = features.iter().find(|feature| {
        FeatureName::parse(feature).is_none_or(|feature| !makers.contains(&feature.name))
    })?;
    Some(format!("its input {array} takes {other}"))
}

/// What a profile gives to a model.
struct Served<'s> {
    application: &'s Application,
    files: &'s PackageFiles,
    schema: &'s Schema,
    profile: &'s RankProfile,
    row: &'s TokenRow,
}

impl Served<'_> {
    /// What is not as in training.
    fn differences(&self, trained: &RowEncoding) -> Vec<String> {
        let (row, feature) = (self.row, &self.row.feature);
        let mut found = Vec::new();
        if row.length != trained.length {
            found.push(format!("of {} tokens; {feature} has {}", trained.length, row.length));
        }
        if (row.start, row.end) != (trained.start, trained.end) {
            found.push(format!(
                "with the special token {} before the first text and {} behind each; {feature} has {} and {}",
                trained.start, trained.end, row.start, row.end
            ));
        }
        let texts: Result<Vec<_>, _> = row
            .arguments
            .iter()
            .map(|argument| RowText::new(argument, self.schema, self.profile))
            .collect();
        let texts = match texts {
            Ok(texts) => texts,
            Err(why) => {
                found.push(why);
                return found;
            }
        };
        let of = |text: &RowText<'_>| match text {
            RowText::Query { .. } => TextOf::Query,
            RowText::Document { .. } => TextOf::Document,
        };
        let (given, wanted): (Vec<TextOf>, Vec<TextOf>) =
            (texts.iter().map(of).collect(), trained.texts.iter().map(|t| t.of).collect());
        if given != wanted {
            let list =
                |texts: &[TextOf]| texts.iter().map(|t| t.name()).collect::<Vec<_>>().join(", ");
            found.push(format!(
                "with the texts in the order {}; {feature} has {}",
                list(&wanted),
                list(&given)
            ));
            return found;
        }
        for ((argument, text), trained) in row.arguments.iter().zip(&texts).zip(&trained.texts) {
            found.extend(self.of_text(argument, text, trained));
        }
        found
    }

    fn of_text(&self, argument: &str, text: &RowText<'_>, trained: &TextEncoding) -> Vec<String> {
        let (of, mut found) = (trained.of.name(), Vec::new());
        let (RowText::Query { size } | RowText::Document { size, .. }) = text;
        if *size != trained.size {
            found.push(format!(
                "with at most {} tokens of the {of}; {argument} has {size}",
                trained.size
            ));
        }
        match text {
            // Which one makes it of a text is known when a query is asked.
            RowText::Query { .. } => {
                let all: Vec<&Component> = self.tokenizers().collect();
                let has = |c: &&Component| {
                    tokenizer_hash(c, self.files).is_ok_and(|hash| hash == trained.tokenizer)
                };
                if !all.iter().any(has) {
                    let ids: Vec<&str> = all.iter().map(|c| c.id.as_str()).collect();
                    let ids = if ids.is_empty() { "none".to_owned() } else { ids.join(", ") };
                    found.push(format!(
                        "with another tokenizer of the {of} ({}) than any hugging-face-tokenizer of the package: {ids}",
                        trained.tokenizer
                    ));
                }
            }
            RowText::Document { field, tokenizer, .. } => {
                let mut components = self.embedders();
                let component = match tokenizer.as_str() {
                    "" => components.next(),
                    id => components.find(|c| c.id == id),
                };
                let hash = component.map(|c| tokenizer_hash(c, self.files));
                match (component, hash) {
                    (Some(_), Some(Ok(hash))) if hash == trained.tokenizer => {}
                    (Some(component), Some(Ok(hash))) => found.push(format!(
                        "with another tokenizer of the {of} ({}) than component {} ({hash}), which embeds field {}",
                        trained.tokenizer, component.id, field.name.value
                    )),
                    (_, Some(Err(why))) => found.push(why),
                    // That there is none is told where the script is read.
                    _ => {}
                }
                let steps = field.indexing.as_ref().map(script_steps).unwrap_or_default();
                if steps != trained.indexing {
                    found.push(format!(
                        "with a {of} made by {}; the indexing of field {} is {}",
                        trained.indexing.join(" | "),
                        field.name.value,
                        steps.join(" | ")
                    ));
                }
            }
        }
        found
    }

    fn embedders(&self) -> impl Iterator<Item = &Component> {
        let containers = &self.application.services.containers;
        containers.iter().flat_map(|c| &c.components).filter(|c| c.is_embedder())
    }

    fn tokenizers(&self) -> impl Iterator<Item = &Component> {
        self.embedders().filter(|c| c.kind == ComponentKind::HuggingFaceTokenizer)
    }
}
