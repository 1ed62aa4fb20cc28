//! Values by name, and expressions that use them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use stead_expr::{Compiled, Documents, Explanation, Rate, TensorType, Value, compile};

/// Runs that tell what a step costs, and how long they may take together.
const RUNS: usize = 100;
const LONGEST: Duration = Duration::from_millis(200);

/// Values that were kept.
#[derive(Default)]
pub(super) struct Session {
    values: BTreeMap<String, Value>,
}

impl Session {
    /// The value of an expression.
    ///
    /// # Errors
    /// In words, with line and column where the text is wrong.
    pub(super) fn value(&self, text: &str) -> Result<Value, String> {
        let (compiled, inputs) = self.compiled(text)?;
        compiled.run(&inputs).map_err(|e| e.to_string())
    }

    /// The program of an expression with the least that each step cost in some runs: the first finds nothing in the
    /// caches.
    ///
    /// # Errors
    /// As for [`Session::value`].
    pub(super) fn explain(&self, text: &str) -> Result<Explanation, String> {
        let (compiled, inputs) = self.compiled(text)?;
        let documents = Documents { count: 0, index: None, attributes: &[] };
        let run = || compiled.explain(&inputs, &documents).map_err(|e| e.to_string());
        let (mut best, began) = (run()?, Instant::now());
        for _ in 0..RUNS {
            if began.elapsed() > LONGEST {
                break;
            }
            for (line, again) in best.lines.iter_mut().zip(run()?.lines) {
                line.cost = line.cost.min(again.cost);
            }
        }
        Ok(best)
    }

    fn compiled(&self, text: &str) -> Result<(Compiled, Vec<&Value>), String> {
        let find = |name: &str| -> Option<(TensorType, Rate)> {
            self.values.get(name).map(|v| (v.kind().clone(), Rate::Query))
        };
        let compiled = compile(text, &find).map_err(|e| e.to_string())?;
        let inputs = compiled.names().iter().filter_map(|n| self.values.get(n)).collect();
        Ok((compiled, inputs))
    }

    /// Keeps a value for later expressions.
    pub(super) fn keep(&mut self, name: &str, value: Value) {
        self.values.insert(name.to_owned(), value);
    }

    /// All that were kept.
    pub(super) fn values(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.values.iter()
    }
}

/// `name = expression`, where `==` is none of it.
pub(super) fn assignment(line: &str) -> Option<(&str, &str)> {
    let (name, text) = line.split_once('=')?;
    let name = name.trim();
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_name && !text.starts_with('=')).then_some((name, text.trim()))
}

#[cfg(test)]
mod tests {
    use super::{Session, assignment};

    #[test]
    fn an_assignment_is_a_name_and_one_sign() {
        for (line, expected) in [
            ("a=1", Some(("a", "1"))),
            (" a_1 = b == c ", Some(("a_1", "b == c"))),
            ("a==1", None),
            ("a+b=1", None),
            ("1=a", None),
            ("a<=1", None),
            ("a", None),
        ] {
            assert_eq!(assignment(line), expected, "{line}");
        }
    }

    #[test]
    fn kept_values_have_their_names() {
        let mut session = Session::default();
        let value = session.value("tensor(x[2]):[1,2]");
        session.keep("v", value.expect("a literal"));
        assert_eq!(
            session.value("v*v").map(|v| v.to_string()),
            Ok("tensor(x[2]):[1,4]".to_owned())
        );
        let program = session.explain("sum(v*v)").map(|e| e.to_string());
        assert!(program.is_ok_and(|p| p.contains("%1   query     double = [dot product](%0, %0)")));
        assert_eq!(
            session.value("w").map(|v| v.to_string()),
            Err("1:1: unknown name w".to_owned())
        );
    }
}
