//! The expressions of profiles with their types.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use stead_expr::{Compiled, ExprError, Function, Rate, Reason, TensorType, compile};

use super::models::ExpressionModel;
use super::scope::{ProfileScope, Used, UsedModel};
use super::uses::{
    ModelInput, ModelKind, ModelOptions, ModelOutput, ProfileModel, Source, SourceType, TreeLibrary,
};
use crate::application::profile::{OnnxModel, RankProfile};
use crate::application::schema::Schema;
use crate::package::{Diagnostic, Place, Report};
use crate::schema::Expression;

/// What is known of the models of a package.
pub trait ModelTypes {
    /// The inputs of an ONNX model that need a value, each with what is bound to it.
    ///
    /// # Errors
    /// Why they are not known.
    fn onnx_inputs(&self, model: &OnnxModel) -> Result<Vec<(String, String)>, Why>;

    /// The name in the file and the type of an output of an ONNX model, the first if `output` is empty; `source` tells
    /// the types of what is bound to its inputs.
    ///
    /// # Errors
    /// Why it is not known.
    fn onnx(
        &self,
        model: &OnnxModel,
        output: &str,
        source: &dyn Fn(&str) -> Option<SourceType>,
    ) -> Result<(String, TensorType), Why>;

    /// What a file of trees in `models/` takes and gives.
    ///
    /// # Errors
    /// Why it cannot be used.
    fn trees(&self, library: TreeLibrary, file: &str) -> Result<TreeFacts, String>;

    /// The functions of a file in `models/`.
    ///
    /// # Errors
    /// Why it cannot be used.
    fn expressions(&self, file: &str) -> Result<Rc<ExpressionModel>, String>;
}

/// What a file of trees takes and gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFacts {
    /// The names of its features in its order, each an expression; empty where no split asks for one.
    pub features: Vec<String>,
    /// Its outputs: more than one for models of several classes or targets.
    pub outputs: usize,
    /// Where its scores are not the predictions of the library that fitted it.
    pub differences: Vec<String>,
}

/// Why a name or a model has no type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// It is wrong.
    Wrong(String),
    /// It may be right, but its type is not known before it runs.
    Unknown(String),
}

/// Nothing is known of any model.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoModels;

impl NoModels {
    fn nothing<T>(model: &OnnxModel) -> Result<T, Why> {
        Err(Why::Unknown(format!(
            "the types of onnx-model {} are not known here",
            model.name.value
        )))
    }
}

impl ModelTypes for NoModels {
    fn onnx_inputs(&self, model: &OnnxModel) -> Result<Vec<(String, String)>, Why> {
        NoModels::nothing(model)
    }

    fn onnx(
        &self,
        model: &OnnxModel,
        _output: &str,
        _source: &dyn Fn(&str) -> Option<SourceType>,
    ) -> Result<(String, TensorType), Why> {
        NoModels::nothing(model)
    }

    fn trees(&self, _library: TreeLibrary, _file: &str) -> Result<TreeFacts, String> {
        Ok(TreeFacts { features: Vec::new(), outputs: 1, differences: Vec::new() })
    }

    fn expressions(&self, file: &str) -> Result<Rc<ExpressionModel>, String> {
        Err(format!("the functions of models/{file} are not known here"))
    }
}

/// The expressions of a profile, ready to run where their types are known.
#[derive(Debug, Clone, Default)]
pub struct CompiledProfile {
    /// The name of the profile.
    pub name: String,
    /// The score of every match.
    pub first_phase: Option<Compiled>,
    /// The score of the best on each node.
    pub second_phase: Option<Compiled>,
    /// The score of the best of all nodes.
    pub global_phase: Option<Compiled>,
    /// Functions without parameters.
    pub functions: Vec<Typed>,
    /// `match-features`
    pub match_features: Vec<Typed>,
    /// `summary-features`
    pub summary_features: Vec<Typed>,
    /// `rank-features`
    pub rank_features: Vec<Typed>,
    /// The models whose outputs are inputs of any of these expressions, or of each other.
    pub models: Vec<ProfileModel>,
}

/// An expression with its name.
#[derive(Debug, Clone)]
pub struct Typed {
    /// The name of the function, or the feature as it is written.
    pub name: String,
    /// The expression.
    pub compiled: Compiled,
}

/// Compiles the expressions of a profile; `inputs` are the types of `query(name)` that query profile types declare.
pub fn compile_profile(
    schema: &Schema,
    profile: &RankProfile,
    inputs: &HashMap<String, TensorType>,
    models: &dyn ModelTypes,
    report: &mut Report,
) -> CompiledProfile {
    let mut functions = HashMap::new();
    for function in &profile.functions {
        match Function::new(function.parameters.clone(), &function.body.value) {
            Ok(parsed) => {
                functions.insert(function.name.value.clone(), parsed);
            }
            Err(error) => {
                let place = function.body.place.within(error.line, error.column);
                report.error(&place, error.reason.to_string());
            }
        }
    }
    // What cannot be read is said once; that its callers do not know it, is not.
    let is_whole = functions.len() == profile.functions.len();
    let scope = ProfileScope {
        schema,
        profile,
        functions,
        models,
        inputs,
        why: RefCell::default(),
        open_models: RefCell::default(),
        used: RefCell::default(),
    };
    let mut compiler = Compiler { scope, is_whole, report };
    let mut compiled =
        CompiledProfile { name: profile.name.value.clone(), ..CompiledProfile::default() };
    for function in profile.functions.iter().filter(|f| f.parameters.is_empty()) {
        let name = function.name.value.clone();
        compiled.functions.extend(compiler.typed(name, &function.body));
    }
    compiled.first_phase = compiler.phase("first-phase", profile.first_phase.expression.as_ref());
    compiled.second_phase =
        compiler.phase("second-phase", profile.second_phase.expression.as_ref());
    compiled.global_phase =
        compiler.phase("global-phase", profile.global_phase.expression.as_ref());
    for (list, features) in [
        (&mut compiled.match_features, &profile.match_features),
        (&mut compiled.summary_features, &profile.summary_features),
        (&mut compiled.rank_features, &profile.rank_features),
    ] {
        for feature in features.iter().flat_map(|f| &f.list) {
            let typed = compiler.typed(feature.value.clone(), feature);
            compiler.not_global(typed.as_ref().map(|t| &t.compiled), &feature.place);
            list.extend(typed);
        }
    }
    compiler.bindings();
    compiled.models = compiler.models();
    compiled
}

struct Compiler<'p, 'r> {
    scope: ProfileScope<'p>,
    is_whole: bool,
    report: &'r mut Report,
}

impl Compiler<'_, '_> {
    fn compile(&mut self, expression: &Expression) -> Option<Compiled> {
        self.scope.why.borrow_mut().clear();
        match compile(&expression.value, &self.scope) {
            Ok(compiled) => Some(compiled),
            Err(error) => {
                self.fail(error, &expression.place.clone());
                None
            }
        }
    }

    fn typed(&mut self, name: String, expression: &Expression) -> Option<Typed> {
        Some(Typed { name, compiled: self.compile(expression)? })
    }

    /// A score, which is a number.
    fn phase(&mut self, phase: &str, expression: Option<&Expression>) -> Option<Compiled> {
        let compiled = self.compile(expression?)?;
        if phase != "global-phase" {
            self.not_global(Some(&compiled), &expression?.place);
        }
        if compiled.kind().is_double() {
            return Some(compiled);
        }
        let kind = compiled.kind();
        let names: Vec<&str> = kind.dimensions().iter().map(|d| &*d.name).collect();
        let text = format!(
            "{phase} must be a number, found a {kind}; reduce its dimensions ({}), such as by sum(...)",
            names.join(", ")
        );
        self.report.error(&expression?.place, text);
        None
    }

    /// Reports what is known only when all hits are together, which is in the global phase.
    fn not_global(&mut self, compiled: Option<&Compiled>, place: &Place) {
        const GLOBAL: [&str; 3] = ["normalize_linear", "reciprocal_rank", "reciprocal_rank_fusion"];
        let names = compiled.map(Compiled::names).unwrap_or_default();
        for name in names {
            let function = name.split('(').next().unwrap_or_default();
            if GLOBAL.contains(&function) {
                let text = format!("{function} is known in the global-phase only");
                self.report.error(place, text);
            }
        }
    }

    /// Reports an error at its place, in a function if it is in the body of one.
    fn fail(&mut self, error: ExprError, from: &Place) {
        let (mut error, mut from) = (error, from.clone());
        while let Reason::Function { name, error: inner } = error.reason {
            let functions = &self.scope.profile.functions;
            if let Some(function) = functions.iter().find(|f| f.name.value == name) {
                from = function.body.place.clone();
            }
            error = *inner;
        }
        let place = from.within(error.line, error.column);
        let why = match &error.reason {
            Reason::Unknown(what) => {
                let name = what.strip_prefix("name ").unwrap_or(what);
                self.scope.why.borrow().get(name).cloned()
            }
            _ => None,
        };
        match why {
            Some(Why::Unknown(text)) => {
                self.report
                    .warning(&place, format!("this expression has not been checked: {text}"));
            }
            Some(Why::Wrong(text)) if self.is_whole => self.report.error(&place, text),
            Some(Why::Wrong(text)) => {
                // It may be a function that could not be read.
                if !text.starts_with("unknown function") {
                    self.report.error(&place, text);
                }
            }
            None => self.report.error(&place, error.reason.to_string()),
        }
    }

    /// Checks what is bound to the inputs of ONNX models.
    fn bindings(&mut self) {
        let profile = self.scope.profile;
        for model in &profile.onnx_models {
            for (_, source) in &model.inputs {
                self.compile(source);
            }
        }
    }

    /// The models that expressions have named, with what their inputs take.
    fn models(&mut self) -> Vec<ProfileModel> {
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
                let onnx = self.scope.onnx_model(name)?.clone();
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
        let options = self.model_options(&of);
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

    /// What rank properties say of a model, such as `xgboost(file.json).mode: exact`.
    fn model_options(&mut self, of: &str) -> ModelOptions {
        let mut options = ModelOptions::default();
        for (key, value) in &self.scope.profile.properties {
            let key = key.replace('"', "");
            let Some(option) = key.strip_prefix(of).and_then(|rest| rest.strip_prefix('.')) else {
                continue;
            };
            let (set, usual, other) = match option {
                "mode" if !of.starts_with("onnx") => (&mut options.is_exact, "compat", "exact"),
                "conversion" if of.starts_with("onnx") => {
                    (&mut options.is_rounded, "exact", "nearest")
                }
                _ => continue,
            };
            match value.value.trim_matches('"') {
                found if found == usual => *set = false,
                found if found == other => *set = true,
                found => {
                    let text = format!("expected {usual} or {other} for {key}, found {found}");
                    self.report.error(&value.place, text);
                }
            }
        }
        options
    }
}
