//! `equals`, `in` and `range`.

use super::form::exactly;
use super::{Reader, SelectError};
use crate::ordered::Ordered;
use crate::yql::{Comparison, Expr, Node};

/// Ends of a range, with what they are in YQL and whether it is the upper end.
const ENDS: [(&str, Comparison, bool); 4] = [
    (">=", Comparison::GreaterOrEqual, false),
    (">", Comparison::Greater, false),
    ("<=", Comparison::LessOrEqual, true),
    ("<", Comparison::Less, true),
];

impl Reader {
    /// `["field", value]`, or `{"field": "field", "index": 2, "value": value}`
    pub(super) fn equals(&mut self, value: &Ordered) -> Result<Node, SelectError> {
        let (mut field, mut index, mut compared, mut annotations) = (None, None, None, Vec::new());
        match value {
            Ordered::Object(members) if members.iter().all(|(name, _)| name != "children") => {
                for (name, value) in members {
                    match name.as_str() {
                        "field" => field = Some(value),
                        "index" => index = Some(value),
                        "value" => compared = Some(value),
                        "attributes" => annotations = self.annotations(value)?,
                        _ => {
                            let text = format!("expected field, index or value, found {name:.40}");
                            return Err(SelectError::new(text));
                        }
                    }
                }
            }
            _ => {
                let form = self.form(value)?;
                let [first, second] = exactly(form.children)?;
                (field, compared, annotations) = (Some(first), Some(second), form.annotations);
            }
        }
        let (Some(field), Some(compared)) = (field, compared) else {
            return Err(SelectError::new("expected a field and a value"));
        };
        let mut left = self.field(field)?;
        let is_comparable = match compared {
            Ordered::Bool(_) => true,
            Ordered::Number(number) => number.is_i64(),
            Ordered::Text(_) => index.is_some(),
            _ => false,
        };
        if !is_comparable {
            let text = format!("expected a whole number or a bool, found {}", compared.kind());
            return Err(SelectError::new(text));
        }
        if let Some(index) = index {
            let place = Box::new(self.constant(index)?);
            left = self.node(Expr::Index(Box::new(left), place))?;
        }
        let right = Box::new(self.constant(compared)?);
        let node = self.node(Expr::Compare(Comparison::Equal, Box::new(left), right))?;
        Ok(Node { annotations, ..node })
    }

    /// `["field", value, value]`: any of some texts or whole numbers.
    pub(super) fn within(&mut self, value: &Ordered) -> Result<Node, SelectError> {
        let form = self.form(value)?;
        let Some((field, list)) = form.children.split_first() else {
            return Err(SelectError::new("expected a field and values, found none"));
        };
        let field = Box::new(self.field(field)?);
        let mut values = Vec::with_capacity(list.len());
        for (at, value) in list.iter().enumerate() {
            let is_one = match value {
                Ordered::Text(_) => true,
                Ordered::Number(number) => number.is_i64(),
                _ => false,
            };
            if !is_one {
                let text = format!("expected a text or a whole number, found {}", value.kind());
                return Err(SelectError::new(text).at(at + 1));
            }
            values.push(self.constant(value)?);
        }
        let node = self.node(Expr::In(field, values))?;
        Ok(Node { annotations: form.annotations, ..node })
    }

    /// `["field", {">=": 1, "<": 5}]`
    pub(super) fn range(&mut self, value: &Ordered) -> Result<Node, SelectError> {
        let form = self.form(value)?;
        let (field, ends) = match exactly(form.children)? {
            [Ordered::Object(ends), field] | [field, Ordered::Object(ends)] => (field, ends),
            [_, other] => {
                let text = format!("expected an object with bounds, found {}", other.kind());
                return Err(SelectError::new(text));
            }
        };
        let field = self.field(field)?;
        let mut found: [Option<(Comparison, Node)>; 2] = [None, None];
        for (sign, bound) in ends {
            let row = ENDS.iter().find(|(name, ..)| name == sign);
            let (comparison, is_upper) = match row {
                Some((_, comparison, is_upper)) => (*comparison, *is_upper),
                None if sign == "=" => (Comparison::Equal, false),
                None => {
                    let text = format!("expected >, >=, <, <= or =, found {sign:.40}");
                    return Err(SelectError::new(text));
                }
            };
            // Vespa's words, with its number.
            let bound = match bound {
                Ordered::Number(_) => self.constant(bound)?,
                other => {
                    let text = format!("expected a number behind {sign}, found {}", other.kind());
                    return Err(SelectError::new(text));
                }
            };
            if found[usize::from(is_upper)].replace((comparison, bound)).is_some() {
                return Err(SelectError::new(format!(
                    "expected one bound of a side, found {sign} too"
                )));
            }
        }
        let mut annotations = form.annotations;
        let expr = match found {
            [Some((Comparison::Equal, _)), Some(_)] => {
                return Err(SelectError::new("expected no other bound beside ="));
            }
            [Some((lower, from)), Some((upper, to))] => {
                let bounds = match (lower, upper) {
                    (Comparison::Greater, Comparison::Less) => Some("open"),
                    (Comparison::Greater, _) => Some("leftOpen"),
                    (_, Comparison::Less) => Some("rightOpen"),
                    _ => None,
                };
                if let Some(bounds) = bounds {
                    let bounds = self.node(Expr::Text(bounds.to_owned()))?;
                    annotations.push(("bounds".to_owned(), bounds));
                }
                Expr::Call("range".to_owned(), vec![field, from, to])
            }
            [Some((comparison, bound)), None] | [None, Some((comparison, bound))] => {
                Expr::Compare(comparison, Box::new(field), Box::new(bound))
            }
            [None, None] => return Err(SelectError::new("expected a bound, found none")),
        };
        let node = self.node(expr)?;
        Ok(Node { annotations, ..node })
    }
}
