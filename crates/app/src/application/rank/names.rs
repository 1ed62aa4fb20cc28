//! The names of a profile for who runs it.

use std::cell::RefCell;
use std::collections::HashMap;

use stead_expr::{Compiled, ExprError, Function, Rate, Reason, Scope, TensorType, compile};

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
        ProfileNames { scope }
    }

    /// Compiles an expression.
    ///
    /// # Errors
    /// What is wrong with it, with line and column in its text.
    pub fn compile(&self, text: &str) -> Result<Compiled, String> {
        self.scope.why.borrow_mut().clear();
        compile(text, &self.scope).map_err(|error| self.explained(&error))
    }

    /// The type of a value and how often it changes.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<(TensorType, Rate)> {
        self.scope.find(name)
    }

    /// An error with the reason why a name has no meaning.
    fn explained(&self, error: &ExprError) -> String {
        let mut inner = error;
        while let Reason::Function { error, .. } = &inner.reason {
            inner = error;
        }
        if let Reason::Unknown(what) = &inner.reason {
            let name = what.strip_prefix("name ").unwrap_or(what);
            if let Some(Why::Wrong(text) | Why::Unknown(text)) = self.scope.why.borrow().get(name) {
                return text.clone();
            }
        }
        error.to_string()
    }
}
