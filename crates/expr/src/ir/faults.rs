//! What is said about steps that cannot be.

use crate::error::{Fault, Reason};
use crate::syntax::{Ast, Expr};
use crate::value::MAX_LABEL;

pub(super) fn wrong(at: u32, function: &str, expected: &'static str, found: String) -> Fault {
    Fault { at, reason: Reason::Arguments { function: function.to_owned(), expected, found } }
}

pub(super) fn too_long(at: u32, length: usize) -> Fault {
    Fault {
        at,
        reason: Reason::Limit(format!("a label of {length} bytes; {MAX_LABEL} is the most")),
    }
}

pub(super) fn unknown(ast: &Ast, id: usize) -> Fault {
    let node = &ast.nodes[id];
    let name = match &node.expr {
        Expr::Feature(feature) => format!("name {}", feature.canonical()),
        _ => "value".to_owned(),
    };
    Fault { at: node.at, reason: Reason::Unknown(name) }
}
