//! The names of a profile for who runs it.

use std::collections::HashMap;

use stead_expr::{Compiled, Function, Rate, Scope, TensorType};

use super::compile::{ModelTypes, Why};
use super::scope::ProfileScope;
use crate::application::profile::RankProfile;
use crate::application::schema::Schema;

/// What the names in the expressions of a profile mean: phases, functions and features are compiled by it, and so is what
/// stands in the arguments of features and at the inputs of models.
pub struct ProfileNames<'p> {
    scope: ProfileScope<'p>,
}

impl<'p> ProfileNames<'p> {
    /// The names of a profile; `inputs` are the types of `query(name)` that query profile types declare. Functions that
    /// cannot be read are unknown: [`compile_profile`](super::compile_profile) reports them.
    #[must_use]
    pub fn new(
        schema: &'p Schema,
        profile: &'p RankProfile,
        inputs: &'p HashMap<String, TensorType>,
        models: &'p dyn ModelTypes,
    ) -> ProfileNames<'p> {
        let function = |f: &crate::application::Function| {
            let parsed = Function::new(f.parameters.clone(), &f.body.value).ok()?;
            Some((f.name.value.clone(), parsed))
        };
        let functions = profile.functions.iter().filter_map(function).collect();
        ProfileNames { scope: ProfileScope::new(schema, profile, functions, inputs, models) }
    }

    /// Compiles an expression.
    ///
    /// # Errors
    /// What is wrong with it, with line and column in its text.
    pub fn compile(&self, text: &str) -> Result<Compiled, String> {
        self.scope.compile(text).map_err(|error| match self.scope.why(&error) {
            Some(Why::Wrong(text) | Why::Unknown(text)) => text,
            None => error.to_string(),
        })
    }

    /// The type of a value and how often it changes.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<(TensorType, Rate)> {
        self.scope.find(name)
    }
}
