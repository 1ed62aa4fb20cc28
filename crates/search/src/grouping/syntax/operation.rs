//! Operations.

use super::lexer::{Lexer, Token};
use super::tree::{Expr, Max, Operation, Output, Where};
use super::{MAX_DEPTH, MAX_NODES};
use crate::yql::Fault;

/// A text that is being read.
pub(super) struct Parser<'t> {
    pub(super) lexer: Lexer<'t>,
    depth: usize,
    nodes: usize,
    /// Names for expressions, of the operations that are open.
    aliases: Vec<Vec<(String, Expr)>>,
}

impl Parser<'_> {
    /// The operations of a whole text.
    pub(super) fn read(text: &str) -> Result<Vec<Operation>, Fault> {
        let lexer = Lexer::new(text)?;
        let mut parser = Parser { lexer, depth: 0, nodes: 0, aliases: Vec::new() };
        let mut operations = Vec::new();
        loop {
            let at = parser.lexer.at;
            let mut operation = parser.root()?;
            operation.resolve(1).map_err(|text| Fault { at, text })?;
            operations.push(operation);
            if !parser.lexer.take_sign(';')? {
                break;
            }
        }
        match parser.lexer.token {
            Token::End => Ok(operations),
            _ => Err(parser.lexer.unexpected("; or the end")),
        }
    }

    /// An operation, with `where` behind it, which is one around it.
    fn root(&mut self) -> Result<Operation, Fault> {
        let inner = self.operation()?;
        if !self.lexer.take_word("where")? {
            return Ok(inner);
        }
        let wheres = Some(self.wheres()?);
        Ok(Operation { wheres, children: vec![inner], ..Operation::default() })
    }

    /// Goes one level deeper, if there is one.
    pub(super) fn enter(&mut self) -> Result<(), Fault> {
        self.depth += 1;
        match self.depth > MAX_DEPTH {
            true => Err(self.lexer.fault(format!("more than {MAX_DEPTH} levels of nesting"))),
            false => Ok(()),
        }
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Counts operations and expressions.
    pub(super) fn count(&mut self, count: usize) -> Result<(), Fault> {
        self.nodes += count;
        match self.nodes > MAX_NODES {
            true => {
                Err(self.lexer.fault(format!("more than {MAX_NODES} operations and expressions")))
            }
            false => Ok(()),
        }
    }

    fn operation(&mut self) -> Result<Operation, Fault> {
        self.enter()?;
        self.count(1)?;
        let is_each = self.lexer.is_word("each");
        if !is_each && !self.lexer.is_word("all") {
            return Err(self.lexer.unexpected("all(...) or each(...)"));
        }
        self.lexer.take()?;
        self.lexer.expect('(')?;
        self.aliases.push(Vec::new());
        let mut found = Operation { is_each, ..Operation::default() };
        if self.lexer.take_word("group")? {
            found.group = Some(self.one()?);
        }
        while self.part(&mut found)? {}
        while self.lexer.is_word("all") || self.lexer.is_word("each") {
            let child = self.operation()?;
            found.children.push(child);
        }
        if !self.lexer.is_sign(')') {
            return Err(self.lexer.unexpected("an operation or )"));
        }
        self.lexer.take()?;
        self.aliases.pop();
        if is_each {
            found.label = self.label()?;
        }
        self.leave();
        Ok(found)
    }

    /// One of the parts behind `group`; false if the next thing is none.
    fn part(&mut self, found: &mut Operation) -> Result<bool, Fault> {
        let Token::Word(word) = self.lexer.token else { return Ok(false) };
        match word {
            "where" => {
                self.lexer.take()?;
                found.wheres = Some(self.wheres()?);
                return Ok(true);
            }
            "accuracy" | "alias" | "filter" | "keep" | "hint" | "max" | "order" | "output"
            | "precision" => {}
            "group" => return Err(self.lexer.fault("group stands first in an operation")),
            _ => return Ok(false),
        }
        self.lexer.take()?;
        self.lexer.expect('(')?;
        match word {
            // It has no effect in Vespa either.
            "accuracy" => {
                let at = self.lexer.at;
                let number = self.number()?.double();
                if !(0.0..=1.0).contains(&number) {
                    let text = format!("Illegal accuracy '{number:?}'. Must be between 0 and 1.");
                    return Err(Fault { at, text });
                }
            }
            "alias" => {
                let name = self.lexer.name("the name of an alias")?.to_owned();
                self.lexer.expect(',')?;
                let expr = self.expression()?;
                self.name(name, expr);
            }
            "hint" => found.hints.push(self.lexer.name("a hint")?.to_owned()),
            "max" => found.max = Some(self.max()?),
            "precision" => found.precision = Some(self.whole()?).filter(|count| *count > 0),
            "order" => {
                found.order = self.list(|parser| parser.expression())?;
            }
            "output" => {
                let output = |parser: &mut Self| {
                    let expr = parser.expression()?;
                    Ok(Output { expr, label: parser.label()? })
                };
                found.outputs.extend(self.list(output)?);
            }
            _ => found.filter = Some(self.filter()?),
        }
        self.lexer.expect(')')?;
        Ok(true)
    }

    /// Things with `,` between them.
    pub(super) fn list<T>(
        &mut self,
        mut one: impl FnMut(&mut Self) -> Result<T, Fault>,
    ) -> Result<Vec<T>, Fault> {
        let mut list = vec![one(self)?];
        while self.lexer.take_sign(',')? {
            list.push(one(self)?);
        }
        Ok(list)
    }

    /// `as(label)`, if it is next.
    fn label(&mut self) -> Result<Option<String>, Fault> {
        if !self.lexer.take_word("as")? {
            return Ok(None);
        }
        self.lexer.expect('(')?;
        let label = self.lexer.text("a label")?;
        self.lexer.expect(')')?;
        Ok(Some(label))
    }

    fn max(&mut self) -> Result<Max, Fault> {
        match self.lexer.take_word("inf")? {
            true => Ok(Max::Unlimited),
            false => self.whole().map(Max::Of),
        }
    }

    /// A whole number, or what is left of one with a fraction.
    pub(super) fn whole(&mut self) -> Result<u32, Fault> {
        let at = self.lexer.at;
        let number = self.number()?.double().trunc();
        let fits = (0.0..=f64::from(i32::MAX)).contains(&number);
        let text = || format!("expected a whole number of 31 bits, found {number}");
        if fits { Ok(number as u32) } else { Err(Fault { at, text: text() }) }
    }

    /// `(true)` or `($query)`
    fn wheres(&mut self) -> Result<Where, Fault> {
        self.lexer.expect('(')?;
        let (at, is_named) = (self.lexer.at, self.lexer.take_sign('$')?);
        let name = self.lexer.name("true or $query")?;
        self.lexer.expect(')')?;
        match (is_named, name) {
            (false, "true") => Ok(Where::All),
            (true, "query") => Ok(Where::Query),
            _ => {
                let sign = if is_named { "$" } else { "" };
                let text = format!("Operation 'where' does not support '{sign}{name:.60}'.");
                Err(Fault { at, text })
            }
        }
    }

    /// Gives an expression a name in the operation that is open.
    pub(super) fn name(&mut self, name: String, expr: Expr) {
        if let Some(aliases) = self.aliases.last_mut() {
            aliases.push((name, expr));
        }
    }

    /// The expression of a name: of the innermost operation that has one, the last that it has.
    pub(super) fn named(&mut self, name: &str) -> Result<Expr, Fault> {
        let own = self.aliases.iter().rev();
        let found = own.flat_map(|list| list.iter().rev()).find(|(known, _)| known == name);
        let Some((_, expr)) = found else {
            return Err(self.lexer.fault(format!("there is no alias {name:.60}")));
        };
        let expr = expr.clone();
        self.count(expr.count())?;
        Ok(expr)
    }
}
