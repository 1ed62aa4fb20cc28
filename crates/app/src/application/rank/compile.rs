//! The expressions of profiles with their types.

use std::collections::HashMap;
use std::rc::Rc;

use stead_expr::{Compiled, ExprError, Function, Reason, TensorType};

use super::feature::FeatureName;
use super::models::ExpressionModel;
use super::scope::ProfileScope;
use super::uses::{ProfileModel, SourceType, TreeLibrary};
use crate::application::profile::{OnnxModel, RankProfile};
use crate::application::schema::Schema;
use crate::package::{PackageFiles, Place, Report};
use crate::schema::Expression;

/// What is known of the models of a package.
pub trait ModelTypes {
    /// The inputs of an ONNX model that need a value, each with what is bound to it.
    ///
    /// # Errors
    /// Why they are not known.
    fn onnx_inputs(&self, model: &OnnxModel) -> Result<Vec<(String, String)>, Why>;

    /// The name in the file and the type of an output of an ONNX model, the first if `output` is empty; `source` tells
    /// the types of what is bound to its inputs, `has_own_cells` whether the
    /// cells are of the type of the elements and not of the one that Vespa has for these.
    ///
    /// # Errors
    /// Why it is not known.
    fn onnx(
        &self,
        model: &OnnxModel,
        output: &str,
        source: &dyn Fn(&str) -> Option<SourceType>,
        has_own_cells: bool,
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

    /// What the metadata of an ONNX model says under a key.
    fn metadata(&self, _model: &OnnxModel, _key: &str) -> Option<String> {
        None
    }

    /// The files of the package, where they are known.
    fn files(&self) -> Option<&PackageFiles> {
        None
    }
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
        _has_own_cells: bool,
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
    let scope = ProfileScope::new(schema, profile, functions, inputs, models);
    let mut compiler = Compiler { scope, is_whole, report };
    compiler.options();
    let mut compiled =
        CompiledProfile { name: profile.name.value.clone(), ..CompiledProfile::default() };
    for function in profile.functions.iter().filter(|f| f.parameters.is_empty()) {
        let name = function.name.value.clone();
        compiled.functions.extend(compiler.typed(name, &function.body));
    }
    // What Vespa scores by where a profile does not say.
    let native = Expression::new("nativeRank".to_owned(), profile.name.place.clone());
    let first = profile.first_phase.expression.as_ref().unwrap_or(&native);
    compiled.first_phase = compiler.phase("first-phase", Some(first));
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
            let name = FeatureName::parse(&feature.value);
            let name = name.map_or_else(|| feature.value.clone(), |name| name.to_string());
            let typed = compiler.typed(name, feature);
            compiler.not_global(typed.as_ref().map(|t| &t.compiled), &feature.place);
            list.extend(typed);
        }
    }
    compiler.bindings();
    compiled.models = compiler.models();
    compiled
}

pub(super) struct Compiler<'p, 'r> {
    pub(super) scope: ProfileScope<'p>,
    is_whole: bool,
    pub(super) report: &'r mut Report,
}

impl Compiler<'_, '_> {
    fn compile(&mut self, expression: &Expression) -> Option<Compiled> {
        match self.scope.compile(&expression.value) {
            Ok(compiled) => Some(compiled),
            Err(error) => {
                self.fail(error, &expression.place);
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
        let why = self.scope.why(&error);
        let (mut error, mut from) = (error, from.clone());
        while let Reason::Function { name, error: inner } = error.reason {
            let functions = &self.scope.profile.functions;
            if let Some(function) = functions.iter().find(|f| f.name.value == name) {
                from = function.body.place.clone();
            }
            error = *inner;
        }
        let place = from.within(error.line, error.column);
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
}
