//! The models of a profile with what their inputs take.

use stead_expr::Rate;

use super::compile::Compiler;
use super::named_models::{Used, UsedModel};
use super::uses::{ModelInput, ModelKind, ModelOutput, ProfileModel, Source};
use crate::BackendKind;
use crate::package::{Diagnostic, Place};

impl Compiler<'_, '_> {
    /// The models that expressions have named, with what their inputs take.
    pub(super) fn models(&mut self) -> Vec<ProfileModel> {
        let mut models: Vec<(UsedModel, ProfileModel)> = Vec::new();
        let mut at = 0;
        // The list grows with the models that are inputs of models.
        while let Some(used) = { self.scope.used.borrow().get(at).cloned() } {
            at += 1;
            let Used { feature, model, output, kind } = used;
            let output = ModelOutput { feature, name: output, kind };
            if let Some((_, known)) = models.iter_mut().find(|(m, _)| *m == model) {
                known.outputs.push(output);
                continue;
            }
            // What is wrong with an input has been said where the model is named.
            if let Some(mut made) = self.model(&model) {
                made.outputs.push(output);
                models.push((model, made));
            }
        }
        models.into_iter().map(|(_, model)| model).collect()
    }

    fn model(&mut self, model: &UsedModel) -> Option<ProfileModel> {
        let mut differences = Vec::new();
        let (kind, inputs, of) = match model {
            UsedModel::Onnx(name) => {
                let mut onnx = self.scope.onnx_model(name)?.clone();
                if onnx.backend == BackendKind::Stead {
                    onnx.precision = onnx.precision.or(self.scope.profile.precision);
                }
                let bound = self.scope.models.onnx_inputs(&onnx).ok()?;
                let input = |(name, text): (String, String)| {
                    Some(ModelInput { name, source: self.scope.source(&text).ok()? })
                };
                let inputs = bound.into_iter().map(input).collect::<Option<_>>()?;
                (ModelKind::Onnx(onnx), inputs, format!("onnx({name})"))
            }
            UsedModel::Function(file, function) => {
                let (body, _) = self.scope.function_of_file(file, function).ok()?;
                let mut inputs = Vec::new();
                let known = self.scope.models.expressions(file).ok()?;
                for (name, _, rate) in body.inputs() {
                    if rate != Rate::Constant {
                        let source = Source::Expression(self.scope.expression(name).ok()?);
                        inputs.push(ModelInput { name: name.to_owned(), source });
                    }
                }
                let of = format!("vespa({file})");
                let constants = known.constants.clone();
                (ModelKind::Function { file: file.clone(), body, constants }, inputs, of)
            }
            UsedModel::Trees(library, file) => {
                let input = |name: String| {
                    let source = match name.is_empty() {
                        true => Source::Nothing,
                        false => Source::Expression(self.scope.expression(&name).ok()?),
                    };
                    Some(ModelInput { name, source })
                };
                let facts = self.scope.models.trees(*library, file).ok()?;
                differences = facts.differences;
                let inputs: Vec<_> =
                    facts.features.into_iter().map(input).collect::<Option<_>>()?;
                let of = format!("{library}({file})");
                (ModelKind::Trees { library: *library, file: file.clone() }, inputs, of)
            }
        };
        let rate = inputs.iter().map(ModelInput::rate).max().unwrap_or(Rate::Query);
        let options = self.scope.options.of_model(&of);
        if let (ModelKind::Trees { file, .. }, false) = (&kind, options.is_exact) {
            self.differences(&of, file, differences);
        }
        Some(ProfileModel { kind, inputs, outputs: Vec::new(), options, rate })
    }

    /// Warns of scores that are not what the model was trained to give, once for all profiles.
    fn differences(&mut self, of: &str, file: &str, differences: Vec<String>) {
        let place = Place::file(&format!("models/{file}"));
        for difference in differences {
            let text = format!(
                "{difference}; rank-properties {{ {of}.mode: exact }} takes the predictions of the library"
            );
            let is_known = |d: &Diagnostic| d.place == place && d.text == text;
            if !self.report.diagnostics().iter().any(is_known) {
                self.report.warning(&place, text);
            }
        }
    }
}
