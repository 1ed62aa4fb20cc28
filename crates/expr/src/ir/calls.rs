//! Calls of functions: a body with the values of arguments in place of its parameters, and with their texts where
//! a parameter stands in the parentheses of a feature, as in `function f(t) { fieldTermMatch(title, t).occurrences }`.

use std::borrow::Cow;

use super::names::{Function, Lowering, MAX_CALLS};
use super::steps::Steps;
use crate::error::{Fault, Reason};
use crate::reader::is_name_byte;
use crate::syntax::{Argument, Ast, Expr, Feature};

/// The longest text of an argument that takes the place of a parameter: calls within calls may double it each time.
const MAX_SUBSTITUTED: usize = 1024;

/// A function with its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Call {
    function: String,
    arguments: Vec<Given>,
}

/// An argument.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Given {
    parameter: String,
    /// A name that is no value may still be the name of a field.
    step: Option<usize>,
    text: String,
}

impl Call {
    fn given(&self, name: &str) -> Option<&Given> {
        self.arguments.iter().find(|g| g.parameter == name)
    }

    /// The step of a parameter.
    pub(super) fn step_of(&self, feature: &Feature) -> Option<usize> {
        self.given(&feature.name)?.step
    }

    /// The text of a parameter that has no value.
    pub(super) fn text_of(&self, feature: &Feature) -> Option<&str> {
        let is_plain = feature.arguments.is_none() && feature.output.is_none();
        self.given(&feature.name).filter(|g| is_plain && g.step.is_none()).map(|g| g.text.as_str())
    }

    /// A text with the texts of arguments in place of the parameters in it.
    fn written(&self, text: &str) -> String {
        let (mut result, mut rest) = (String::new(), text);
        while let Some(first) = rest.chars().next() {
            let word = rest.bytes().take_while(|b| is_name_byte(*b)).count();
            let quoted =
                if first == '"' { rest[1..].find('"').map_or(0, |end| end + 2) } else { 0 };
            let end = word.max(quoted).max(first.len_utf8());
            match self.given(&rest[..word]) {
                Some(given) => result.push_str(&given.text),
                None => result.push_str(&rest[..end]),
            }
            rest = &rest[end..];
        }
        if result.len() > MAX_SUBSTITUTED { text.to_owned() } else { result }
    }
}

impl Lowering<'_> {
    /// A feature with the texts of arguments in place of the parameters in its parentheses.
    pub(super) fn written<'f>(&self, feature: &'f Feature) -> Cow<'f, Feature> {
        let call = self.frames.iter().rev().find_map(|frame| frame.calls.last());
        let (Some(call), Some(arguments)) = (call, &feature.arguments) else {
            return Cow::Borrowed(feature);
        };
        let written =
            |a: &Argument| Argument { text: call.written(&a.text), expression: a.expression };
        let arguments = Some(arguments.iter().map(written).collect());
        Cow::Owned(Feature { arguments, ..feature.clone() })
    }

    /// The step of a function that is called with as many arguments as it has parameters.
    pub(super) fn call(
        &mut self,
        function: &Function,
        feature: &Feature,
        at: u32,
        ast: &Ast,
        steps: &Steps,
    ) -> Result<usize, Fault> {
        let fault = |reason| Fault { at, reason };
        let name = &feature.name;
        let written = self.written(feature);
        let arguments = written.arguments.as_deref().unwrap_or_default();
        let mut given = Vec::with_capacity(arguments.len());
        for (parameter, argument) in function.parameters.iter().zip(arguments) {
            let step = argument.expression.and_then(|id| steps.get(id));
            let is_name = argument.expression.is_none_or(
                |id| matches!(&ast.nodes[id].expr, Expr::Feature(f) if f.arguments.is_none()),
            );
            if let (None, false, Some(id)) = (step, is_name, argument.expression) {
                steps.of(ast, id)?;
            }
            given.push(Given { parameter: parameter.clone(), step, text: argument.text.clone() });
        }
        let call = Call { function: name.clone(), arguments: given };
        let depth = self.frames.len() - 1;
        if let Some(step) = self.frames[depth].called.get(&call) {
            return Ok(*step);
        }
        if self.functions.iter().any(|f| f == name) {
            return Err(fault(Reason::Cycle(name.clone())));
        }
        if self.functions.len() == MAX_CALLS {
            return Err(fault(Reason::TooManyCalls));
        }
        self.functions.push(name.clone());
        self.frames[depth].calls.push(call.clone());
        let result = self.tree(&function.body);
        self.frames[depth].calls.pop();
        self.functions.pop();
        let is_argument = |what: &str| {
            let text = what.strip_prefix("value ");
            call.arguments.iter().any(|g| g.step.is_none() && Some(g.text.as_str()) == text)
        };
        let step = result.map_err(|inner| match &inner.reason {
            // It is the call that gives something without a value.
            Reason::Unknown(what) if is_argument(what) => fault(inner.reason.clone()),
            _ => {
                let error = Box::new(inner.within(&function.text));
                fault(Reason::Function { name: name.clone(), error })
            }
        })?;
        self.frames[depth].called.insert(call, step);
        Ok(step)
    }
}
