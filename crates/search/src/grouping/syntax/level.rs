//! What operations and expressions work on: hits, groups, lists of groups
//! (Vespa, `container-search/src/main/java/com/yahoo/search/grouping/request/GroupingOperation.java`).

use super::tree::{Aggregate, Expr, Operation};

/// The name of a level.
pub(in crate::grouping) fn described(level: u32) -> String {
    match level {
        0 => "single hit".to_owned(),
        1 => "single group".to_owned(),
        _ => format!("{}groups", "list of ".repeat(level as usize - 1)),
    }
}

impl Operation {
    /// Notes what the operation and all in it work on; an error is Vespa's text for what cannot be.
    pub(super) fn resolve(&mut self, level: u32) -> Result<(), String> {
        let mut level = level;
        if self.is_each {
            let none = || format!("Operation '{self}' cannot operate on {}.", described(level));
            level = level.checked_sub(1).ok_or_else(none)?;
        }
        if let Some(group) = &self.group {
            let inner = level.checked_sub(1).ok_or_else(|| self.cannot("group", level))?;
            check(group, Some(inner))?;
            level += 1;
        }
        if self.max.is_some() && level == 0 {
            return Err(self.cannot("apply max to", level));
        }
        self.level = level;
        for output in &self.outputs {
            check(&output.expr, Some(level))?;
        }
        if !self.order.is_empty() && level == 0 {
            return Err(self.cannot("order", level));
        }
        for order in &self.order {
            check(order, level.checked_sub(1))?;
        }
        self.children.iter_mut().try_for_each(|child| child.resolve(level))
    }

    fn cannot(&self, what: &str, level: u32) -> String {
        format!("Operation '{self}' cannot {what} {}.", described(level))
    }
}

/// Whether an expression can be computed of what is on a level; nothing for what is inside of a hit.
fn check(expr: &Expr, level: Option<u32>) -> Result<(), String> {
    let Some(level) = level else {
        return Err(format!("Expression '{expr}' recurses through a single hit."));
    };
    let inner = match expr {
        Expr::Aggregate(Aggregate::Summary(_), _) if level > 0 => {
            return Err(format!("Expression '{expr}' not applicable for {}.", described(level)));
        }
        Expr::Aggregate(Aggregate::Summary(_), _) => Some(level),
        Expr::Aggregate(..) if level == 0 => {
            return Err(format!("Expression '{expr}' not applicable for {}.", described(level)));
        }
        Expr::Aggregate(..) => level.checked_sub(1),
        _ => Some(level),
    };
    expr.parts().try_for_each(|part| check(part, inner))
}
