//! What names mean: values from outside, parameters of lambdas, indices of generated cells.

use std::collections::HashMap;

use super::calls::Call;
use super::steps::Steps;
use super::{Builder, Program, Rate};
use crate::error::{ExprError, Fault, Reason};
use crate::syntax::{self, Ast, Feature, Lambda};
use crate::types::TensorType;

/// How deep functions may call functions. Published packages stay below 10.
pub const MAX_CALLS: usize = 64;

/// What the names of an expression mean.
pub trait Scope {
    /// The type of a value by its full name such as `query(user)` or `bm25(title)`, and how often it changes;
    /// `None` if there is none. What differs from document to document has a type with all sizes.
    fn find(&self, name: &str) -> Option<(TensorType, Rate)>;

    /// Whether numbers are rounded where they become cells exactly or not at all: in conversions from or to a cell type
    /// that Vespa does not have.
    fn is_rounded(&self) -> bool {
        false
    }

    /// The function of this name. It is asked for before the value.
    fn function(&self, name: &str) -> Option<&Function> {
        let _ = name;
        None
    }
}

impl<F: Fn(&str) -> Option<(TensorType, Rate)>> Scope for F {
    fn find(&self, name: &str) -> Option<(TensorType, Rate)> {
        self(name)
    }
}

/// A function that expressions may call: `name(a,b)`, or `name` if it has no parameters.
#[derive(Debug, Clone)]
pub struct Function {
    pub(super) parameters: Vec<String>,
    pub(super) text: String,
    pub(super) body: Ast,
}

impl Function {
    /// A function from its parameters and the text of its body.
    ///
    /// # Errors
    /// When the body cannot be read. Its names and types are checked where it is called.
    pub fn new(parameters: Vec<String>, text: &str) -> Result<Function, ExprError> {
        let body = syntax::parse(text).map_err(|fault| fault.within(text))?;
        Ok(Function { parameters, text: text.to_owned(), body })
    }

    /// The names of its parameters.
    #[must_use]
    pub fn parameters(&self) -> &[String] {
        &self.parameters
    }
}

/// The steps of one body and the names that only it knows.
#[derive(Default)]
pub(super) struct Frame {
    builder: Builder,
    parameters: HashMap<String, usize>,
    /// Whether names from outside are known too.
    is_open: bool,
    /// Steps outside that are inputs here, in the order of the inputs.
    captured: Vec<(usize, usize)>,
    /// The parameters of the functions whose bodies are being made into steps here, the innermost last.
    pub(super) calls: Vec<Call>,
    /// Calls that were made before, with their steps: a function that is called twice costs once.
    pub(super) called: HashMap<Call, usize>,
}

impl Frame {
    /// A frame in which inputs have these names and types.
    pub(super) fn new<'n>(
        parameters: impl Iterator<Item = (&'n str, TensorType)>,
        is_open: bool,
    ) -> Frame {
        let mut frame = Frame { is_open, ..Frame::default() };
        for (name, kind) in parameters {
            let step = frame.builder.input(kind, Rate::Document);
            frame.parameters.insert(name.to_owned(), step);
        }
        frame
    }
}

pub(super) struct Lowering<'s> {
    scope: &'s dyn Scope,
    /// The names of the outermost program's inputs, and their steps.
    names: Vec<String>,
    inputs: HashMap<String, usize>,
    /// The innermost last.
    pub(super) frames: Vec<Frame>,
    /// The functions within whose bodies it is.
    pub(super) functions: Vec<String>,
}

impl<'s> Lowering<'s> {
    pub(super) fn new(scope: &'s dyn Scope) -> Lowering<'s> {
        let (names, inputs, functions) = (Vec::new(), HashMap::new(), Vec::new());
        let mut outermost = Frame::default();
        outermost.builder.is_rounded = scope.is_rounded();
        Lowering { scope, names, inputs, functions, frames: vec![outermost] }
    }

    /// The builder of the innermost body.
    pub(super) fn builder(&mut self) -> &mut Builder {
        let last = self.frames.len() - 1;
        &mut self.frames[last].builder
    }

    /// The program of the outermost body.
    pub(super) fn finish(mut self, result: usize) -> (Program, Vec<String>) {
        let outermost = self.frames.pop().unwrap_or_default();
        (outermost.builder.finish(result), self.names)
    }

    /// The step of a name in the innermost body, or nothing if it has no meaning.
    pub(super) fn feature(
        &mut self,
        feature: &Feature,
        at: u32,
        ast: &Ast,
        steps: &Steps,
    ) -> Result<Option<usize>, Fault> {
        let depth = self.frames.len() - 1;
        if let Some(step) = self.local(feature, depth) {
            return Ok(Some(step));
        }
        if let Some(text) = self.frames[depth].calls.last().and_then(|c| c.text_of(feature)) {
            return Err(Fault { at, reason: Reason::Unknown(format!("value {text}")) });
        }
        let scope = self.scope;
        let count = feature.arguments.as_ref().map_or(0, Vec::len);
        match scope.function(&feature.name).filter(|_| feature.output.is_none()) {
            Some(function) if function.parameters.len() == count => {
                self.call(function, feature, at, ast, steps).map(Some)
            }
            // A function may have the name of a feature with other arguments, such as freshness() of freshness(time).
            Some(_) => match self.global(feature, depth) {
                Some(step) => Ok(Some(step)),
                None => {
                    let (function, found) =
                        (format!("function {}", feature.name), count.to_string());
                    let expected = "as many arguments as it has parameters";
                    Err(Fault { at, reason: Reason::Arguments { function, expected, found } })
                }
            },
            None => match self.global(feature, depth) {
                // A name alone may be a dimension.
                None if feature.arguments.is_some() => {
                    let name = format!("name {}", self.written(feature).canonical());
                    Err(Fault { at, reason: Reason::Unknown(name) })
                }
                found => Ok(found),
            },
        }
    }

    /// The step of a parameter in a frame, or in those around it that it sees.
    fn local(&mut self, feature: &Feature, depth: usize) -> Option<usize> {
        if feature.arguments.is_some() || feature.output.is_some() {
            return None;
        }
        let frame = &self.frames[depth];
        if let Some(parameters) = frame.calls.last() {
            // The body of a function sees nothing of where it is called.
            return parameters.step_of(feature);
        }
        if let Some(step) = frame.parameters.get(&feature.name) {
            return Some(*step);
        }
        if depth == 0 || !frame.is_open {
            return None;
        }
        let outside = self.local(feature, depth - 1)?;
        Some(self.capture(outside, depth))
    }

    /// The step in a frame of a value from outside the expression.
    fn global(&mut self, feature: &Feature, depth: usize) -> Option<usize> {
        if depth > 0 {
            if !self.frames[depth].is_open {
                return None;
            }
            let outside = self.global(feature, depth - 1)?;
            return Some(self.capture(outside, depth));
        }
        let name = self.written(feature).canonical();
        if let Some(step) = self.inputs.get(&name) {
            return Some(*step);
        }
        let found = self.scope.find(&name);
        // Columns of documents have tensors of one size.
        let (kind, rate) = found.filter(|(k, rate)| k.is_bound() || *rate != Rate::Document)?;
        let step = self.frames[0].builder.input(kind, rate);
        self.inputs.insert(name.clone(), step);
        self.names.push(name);
        Some(step)
    }

    /// The step in a frame that has the value of one in the frame around it.
    fn capture(&mut self, outside: usize, depth: usize) -> usize {
        let outer = &self.frames[depth - 1].builder;
        if let Some(value) = outer.value(outside).cloned() {
            return self.frames[depth].builder.constant(value);
        }
        let (kind, rate) = (outer.kind(outside).clone(), outer.rate(outside));
        let frame = &mut self.frames[depth];
        if let Some((_, inside)) = frame.captured.iter().find(|(o, _)| *o == outside) {
            return *inside;
        }
        let inside = frame.builder.input(kind, rate);
        frame.captured.push((outside, inside));
        inside
    }

    /// The program of a lambda, which sees nothing but its parameters.
    pub(super) fn lambda(
        &mut self,
        lambda: &Lambda,
        kinds: &[TensorType],
    ) -> Result<Program, Fault> {
        let parameters = lambda.parameters.iter().map(String::as_str).zip(kinds.iter().cloned());
        let frame = Frame::new(parameters, false);
        let (program, _) = self.body(frame, &lambda.body)?;
        Ok(program)
    }

    /// The program of a body in a frame of its own, and the steps outside that it needs.
    pub(super) fn body(
        &mut self,
        mut frame: Frame,
        body: &Ast,
    ) -> Result<(Program, Vec<usize>), Fault> {
        frame.builder.is_rounded = self.scope.is_rounded();
        self.frames.push(frame);
        let result = self.tree(body);
        let frame = self.frames.pop().unwrap_or_default();
        let outside = frame.captured.iter().map(|(outside, _)| *outside).collect();
        Ok((frame.builder.finish(result?), outside))
    }
}
