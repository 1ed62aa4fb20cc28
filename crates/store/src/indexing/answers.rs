//! Tensors of texts that were made before scripts run: what scripts ask that is not known is noted, so that it can be made.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use stead_expr::{Cells, Labels, TensorType, Value};

use super::Embedder;

/// What a script asks of a component.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TextCall {
    /// The component; never empty.
    pub component: String,
    /// The text.
    pub text: String,
    /// The type of the tensor.
    pub kind: TensorType,
    /// The language of the text, if it was set.
    pub language: Option<String>,
}

/// What is known of texts.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    /// The components that there are.
    components: Arc<[String]>,
    known: HashMap<TextCall, Result<Value, String>>,
    missing: RefCell<Vec<TextCall>>,
}

impl Answers {
    /// Nothing, of the texts for these components.
    #[must_use]
    pub fn new(components: &Arc<[String]>) -> Answers {
        Answers { components: Arc::clone(components), ..Answers::default() }
    }

    /// What is known besides; what was noted is forgotten.
    pub fn learn(&mut self, answers: impl IntoIterator<Item = (TextCall, Result<Value, String>)>) {
        self.known.extend(answers);
        self.missing.get_mut().clear();
    }

    fn component(&self, id: &str) -> Option<&String> {
        match (id, &*self.components) {
            ("", [only]) => Some(only),
            _ => self.components.iter().find(|known| *known == id),
        }
    }
}

impl Embedder for Answers {
    /// The tensor of a text that is known; zeros of a text that is not, which is noted.
    fn embed(
        &self,
        id: &str,
        text: &str,
        kind: &TensorType,
        language: Option<&str>,
    ) -> Option<Result<Value, String>> {
        let component = self.component(id)?.clone();
        let (text, language) = (text.to_owned(), language.map(str::to_owned));
        let call = TextCall { component, text, kind: kind.clone(), language };
        if let Some(known) = self.known.get(&call) {
            return Some(known.clone());
        }
        let count = if kind.mapped_count() == 0 { kind.block_size() } else { 0 };
        let zeros = Value::new(kind.clone(), Labels::default(), Cells::zeros(kind.cell(), count));
        let mut missing = self.missing.borrow_mut();
        if !missing.contains(&call) {
            missing.push(call);
        }
        Some(zeros.map_err(|e| e.to_string()))
    }

    fn has(&self, id: &str) -> bool {
        self.component(id).is_some()
    }

    fn missing(&self) -> Vec<TextCall> {
        self.missing.borrow().clone()
    }
}
