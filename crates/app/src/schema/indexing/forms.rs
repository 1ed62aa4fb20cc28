//! Steps that hold others by cases.

use super::parser::Parser;
use super::tree::{Comparison, Literal, Operation};
use crate::schema::reader::Fault;

impl Parser<'_, '_> {
    /// `if (a < b) { ... } else { ... }`
    pub(super) fn condition(&mut self) -> Result<Operation, Fault> {
        const SIGNS: [(&str, Comparison); 6] = [
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("<=", Comparison::AtMost),
            ("<", Comparison::Less),
            (">=", Comparison::AtLeast),
            (">", Comparison::Greater),
        ];
        self.open("(")?;
        let left = Box::new(self.choice()?);
        let Some((_, comparison)) = SIGNS.iter().find(|(sign, _)| self.take(sign)) else {
            return Err(self.reader.unexpected("one of == != < <= > >="));
        };
        let right = Box::new(self.choice()?);
        self.close(")")?;
        let then = self.script()?;
        let before = self.reader.at;
        self.reader.blank();
        let otherwise = match self.one_of(&["else"]) {
            Some(_) => Some(self.script()?),
            None => {
                self.reader.at = before;
                None
            }
        };
        Ok(Operation::If { left, comparison: *comparison, right, then, otherwise })
    }

    /// `{ case "a": ...; default: ...; }`
    pub(super) fn switch(&mut self) -> Result<Operation, Fault> {
        let (mut cases, mut default) = (Vec::new(), None);
        self.open("{")?;
        while self.byte() != Some(b'}') {
            match self.one_of(&["case", "default"]) {
                Some("case") => {
                    let Literal::Text(text) = self.text()? else { continue };
                    self.expect(":")?;
                    cases.push((text, self.statement()?));
                }
                Some(_) => {
                    self.expect(":")?;
                    default = Some(self.statement()?);
                }
                None => return Err(self.reader.unexpected("case, default or }")),
            }
            self.expect(";")?;
        }
        self.close("}")?;
        Ok(Operation::Switch { cases, default })
    }

    /// `{ field: ...; field: ...; }`
    pub(super) fn select_input(&mut self) -> Result<Operation, Fault> {
        let mut cases = Vec::new();
        self.open("{")?;
        while self.byte() != Some(b'}') {
            self.one_of(&["case"]);
            let Some(field) = self.name()? else {
                return Err(self.reader.unexpected("the name of a field or }"));
            };
            self.expect(":")?;
            cases.push((field, self.statement()?));
            self.expect(";")?;
        }
        self.close("}")?;
        Ok(Operation::SelectInput(cases))
    }
}
