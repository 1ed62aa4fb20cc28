//! What an operator is given: a list of children, or an object with `children` and `attributes`; and values without operators.

use super::{Reader, SelectError};
use crate::ordered::Ordered;
use crate::yql::{Expr, Node};

/// The children of an operator, and the annotations that hold for it.
pub(super) struct Form<'j> {
    pub(super) children: &'j [Ordered],
    pub(super) annotations: Vec<(String, Node)>,
}

impl Reader {
    /// What an operator is given.
    pub(super) fn form<'j>(&mut self, json: &'j Ordered) -> Result<Form<'j>, SelectError> {
        let members = match json {
            Ordered::List(children) => return Ok(Form { children, annotations: Vec::new() }),
            Ordered::Object(members) => members,
            // One child needs no list.
            _ => {
                return Ok(Form { children: std::slice::from_ref(json), annotations: Vec::new() });
            }
        };
        let mut form = Form { children: &[], annotations: Vec::new() };
        for (name, value) in members {
            match (name.as_str(), value) {
                ("children", Ordered::List(children)) => form.children = children,
                ("children", other) => {
                    let text = format!("expected a list, found {}", other.kind());
                    return Err(SelectError::new(text).within(name));
                }
                ("attributes", value) => form.annotations = self.annotations(value)?,
                _ => {
                    let text = format!("expected children or attributes, found {name:.40}");
                    return Err(SelectError::new(text));
                }
            }
        }
        Ok(form)
    }

    /// The value of `attributes`.
    pub(super) fn annotations(
        &mut self,
        json: &Ordered,
    ) -> Result<Vec<(String, Node)>, SelectError> {
        let Ordered::Object(members) = json else {
            let text = format!("expected an object, found {}", json.kind());
            return Err(SelectError::new(text).within("attributes"));
        };
        let value = |(name, value): &(String, Ordered)| {
            let value = self.constant(value).map_err(|error| error.within(name))?;
            Ok((name.clone(), value))
        };
        let found: Result<_, SelectError> = members.iter().map(value).collect();
        found.map_err(|error| error.within("attributes"))
    }

    /// A value without operators.
    pub(super) fn constant(&mut self, json: &Ordered) -> Result<Node, SelectError> {
        self.enter()?;
        let expr = match json {
            Ordered::Null => Expr::Null,
            Ordered::Bool(value) => Expr::Bool(*value),
            Ordered::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(whole), _) => Expr::Integer(whole),
                (None, Some(number)) => Expr::Number(number),
                (None, None) => return Err(SelectError::new("a number out of range")),
            },
            Ordered::Text(text) => Expr::Text(text.clone()),
            Ordered::List(list) => Expr::Array(
                list.iter().map(|value| self.constant(value)).collect::<Result<_, _>>()?,
            ),
            Ordered::Object(members) => {
                let pair =
                    |(name, value): &(String, Ordered)| Ok((name.clone(), self.constant(value)?));
                Expr::Map(members.iter().map(pair).collect::<Result<_, SelectError>>()?)
            }
        };
        self.leave();
        self.node(expr)
    }

    /// The name of a field.
    pub(super) fn field(&mut self, json: &Ordered) -> Result<Node, SelectError> {
        match json {
            Ordered::Text(name) => self.node(Expr::Field(name.clone())),
            other => {
                let text = format!("expected the name of a field, found {}", other.kind());
                Err(SelectError::new(text))
            }
        }
    }
}

/// Exactly so many children.
pub(super) fn exactly<const N: usize>(children: &[Ordered]) -> Result<&[Ordered; N], SelectError> {
    children
        .try_into()
        .map_err(|_| SelectError::new(format!("expected {N} children, found {}", children.len())))
}
