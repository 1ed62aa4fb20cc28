//! Operators that have parts: an object with the name of one and what it is given.

use super::call::{CALLS, PARTS};
use super::{Reader, SelectError};
use crate::ordered::Ordered;
use crate::yql::{Expr, Node};

/// Operators that YQL writes otherwise than as calls.
const OPERATORS: [&str; 9] =
    ["and", "or", "and_not", "not", "equals", "in", "range", "contains", "matches"];

impl Reader {
    /// A part of a query.
    pub(super) fn part(&mut self, json: &Ordered) -> Result<Node, SelectError> {
        match json {
            Ordered::Bool(value) => self.node(Expr::Bool(*value)),
            // Of an element itself.
            Ordered::Text(text) if self.is_element => self.node(Expr::Text(text.clone())),
            Ordered::Object(members) => self.object(members),
            other => {
                let text = format!("expected an object with an operator, found {}", other.kind());
                Err(SelectError::new(text))
            }
        }
    }

    fn object(&mut self, members: &[(String, Ordered)]) -> Result<Node, SelectError> {
        match members {
            [(name, value)] => self.member(name, value),
            [] => Err(SelectError::new("expected an operator, found an empty object")),
            // Vespa's page writes all tests of an element into one object.
            several if self.is_element => {
                let parts = several.iter().map(|(name, value)| self.member(name, value));
                let parts = parts.collect::<Result<_, _>>()?;
                self.node(Expr::And(parts))
            }
            // Vespa takes the last of them and forgets the others.
            [(first, _), (second, _), ..] => {
                let text = format!("expected one operator, found {first:.40} and {second:.40}");
                Err(SelectError::new(text))
            }
        }
    }

    fn member(&mut self, name: &str, value: &Ordered) -> Result<Node, SelectError> {
        self.enter()?;
        let found = self.operator(name, value).map_err(|error| error.within(name))?;
        self.leave();
        Ok(found)
    }

    fn operator(&mut self, name: &str, value: &Ordered) -> Result<Node, SelectError> {
        match name {
            "and" | "or" | "and_not" => {
                let form = self.form(value)?;
                if form.children.is_empty() {
                    return Err(SelectError::new("expected 1 or more children, found none"));
                }
                let mut parts = self.parts(form.children)?;
                if name == "and_not" {
                    for part in parts.iter_mut().skip(1) {
                        let inner = std::mem::replace(part, self.node(Expr::Null)?);
                        *part = self.node(Expr::Not(Box::new(inner)))?;
                    }
                }
                let expr = if name == "or" { Expr::Or(parts) } else { Expr::And(parts) };
                let node = self.node(expr)?;
                Ok(Node { annotations: form.annotations, ..node })
            }
            "not" => {
                let inner = Box::new(self.part(value)?);
                self.node(Expr::Not(inner))
            }
            "equals" => self.equals(value),
            "in" => self.within(value),
            "range" => self.range(value),
            "contains" => self.contains(value),
            "matches" => self.matches(value),
            _ if CALLS.contains(&name) || PARTS.contains(&name) => self.call(name, value),
            // `{"title": "blue"}`, as Vespa's page writes words.
            _ => match value {
                Ordered::Text(_) | Ordered::Number(_) | Ordered::Bool(_) => {
                    let field = Box::new(self.node(Expr::Field(name.to_owned()))?);
                    let word = Box::new(self.constant(value)?);
                    self.node(Expr::Contains(field, word))
                }
                _ => {
                    let known = OPERATORS.iter().chain(&CALLS).chain(&PARTS).copied();
                    let known = known.collect::<Vec<_>>().join(", ");
                    Err(SelectError::new(format!("expected one of {known}, or a word for a field")))
                }
            },
        }
    }

    /// Several parts.
    pub(super) fn parts(&mut self, list: &[Ordered]) -> Result<Vec<Node>, SelectError> {
        let part = |(at, json)| self.part(json).map_err(|error: SelectError| error.at(at));
        list.iter().enumerate().map(part).collect()
    }
}
