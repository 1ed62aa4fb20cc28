//! `contains` and `matches`, with the functions of words that they know.

use super::form::exactly;
use super::{Reader, SelectError};
use crate::ordered::Ordered;
use crate::yql::{Expr, Node};

/// Functions behind `contains`.
const FUNCTIONS: [&str; 9] =
    ["sameElement", "phrase", "near", "onear", "equiv", "alternatives", "fuzzy", "text", "uri"];

impl Reader {
    /// `["field", "word"]` or `["field", {"phrase": ["a", "b"]}]`
    pub(super) fn contains(&mut self, value: &Ordered) -> Result<Node, SelectError> {
        let form = self.form(value)?;
        let [field, word] = exactly(form.children)?;
        let field = Box::new(self.field(field)?);
        let word = match word {
            Ordered::Object(members) => match &members[..] {
                [(name, value)] => {
                    self.enter()?;
                    let found = self.function(name, value).map_err(|error| error.within(name))?;
                    self.leave();
                    found
                }
                _ => {
                    let text = format!("expected one function, found {}", members.len());
                    return Err(SelectError::new(text));
                }
            },
            Ordered::Text(_) | Ordered::Number(_) | Ordered::Bool(_) => self.constant(word)?,
            other => {
                let text = format!("expected a word or a function, found {}", other.kind());
                return Err(SelectError::new(text));
            }
        };
        let node = self.node(Expr::Contains(field, Box::new(word)))?;
        Ok(Node { annotations: form.annotations, ..node })
    }

    /// `["field", "expression"]`
    pub(super) fn matches(&mut self, value: &Ordered) -> Result<Node, SelectError> {
        let form = self.form(value)?;
        let [field, pattern] = exactly(form.children)?;
        let (field, pattern) = (Box::new(self.field(field)?), Box::new(self.constant(pattern)?));
        let node = self.node(Expr::Matches(field, pattern))?;
        Ok(Node { annotations: form.annotations, ..node })
    }

    fn function(&mut self, name: &str, value: &Ordered) -> Result<Node, SelectError> {
        if !FUNCTIONS.contains(&name) {
            let known = FUNCTIONS.join(", ");
            return Err(SelectError::new(format!("expected one of {known}")));
        }
        if let ("text", Ordered::Object(members)) = (name, value)
            && members.iter().any(|(name, _)| name == "query")
        {
            return self.text(members);
        }
        let form = self.form(value)?;
        let list = match name {
            "sameElement" => {
                let is_within = std::mem::replace(&mut self.is_element, true);
                let parts = self.parts(form.children);
                self.is_element = is_within;
                parts?
            }
            _ => self.words(form.children)?,
        };
        let node = self.node(Expr::Call(name.to_owned(), list))?;
        Ok(Node { annotations: form.annotations, ..node })
    }

    /// Words, and phrases among them.
    fn words(&mut self, list: &[Ordered]) -> Result<Vec<Node>, SelectError> {
        let mut words = Vec::with_capacity(list.len());
        for (at, word) in list.iter().enumerate() {
            let found = match word {
                Ordered::Object(members) if matches!(&members[..], [(name, _)] if name == "phrase") =>
                {
                    self.enter()?;
                    let phrase = self.function("phrase", &members[0].1);
                    self.leave();
                    phrase.map_err(|error| error.within("phrase"))
                }
                _ => self.constant(word),
            };
            words.push(found.map_err(|error| error.at(at))?);
        }
        Ok(words)
    }

    /// `{"query": "words", "attributes": {...}}`
    fn text(&mut self, members: &[(String, Ordered)]) -> Result<Node, SelectError> {
        let (mut list, mut annotations) = (Vec::new(), Vec::new());
        for (name, value) in members {
            match name.as_str() {
                "query" => list.push(self.constant(value)?),
                "attributes" => annotations = self.annotations(value)?,
                _ => {
                    let text = format!("expected query or attributes, found {name:.40}");
                    return Err(SelectError::new(text));
                }
            }
        }
        let node = self.node(Expr::Call("text".to_owned(), list))?;
        Ok(Node { annotations, ..node })
    }
}
