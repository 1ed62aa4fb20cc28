//! What several expressions have in common, computed once for all of them.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::compiled::Compiled;
use crate::ir::{Fused, Op, Program, Rate, Step};
use crate::types::TensorType;

/// The least steps, or one on tensors, for which it is cheaper to keep a number than to compute it again.
const WORTH: usize = 8;

/// Expressions and what they have in common.
#[derive(Debug, Clone)]
pub struct Shared {
    /// The expressions, in their order; each takes numbers that are common by the names that they have in `common`.
    pub expressions: Vec<Compiled>,
    /// Numbers that more than one of the expressions or of these take, each with its name.
    pub common: Vec<(String, Compiled)>,
}

/// Takes numbers that differ from document to document out of expressions, where more than one of them computes it and it is worth
/// keeping. One that equals an expression of `named` gets that name, others have the names `common(1)` and so on. All
/// expressions must be compiled in the same scope.
#[must_use]
pub fn share(expressions: &[&Compiled], named: &[(String, &Compiled)]) -> Shared {
    let mut all = Merged::default();
    let roots: Vec<usize> = expressions.iter().map(|e| all.add(e)).collect();
    let names: HashMap<usize, &str> =
        named.iter().rev().map(|(name, e)| (all.add(e), name.as_str())).collect();
    let worth = all.worth();
    let users = all.users(&roots, &worth);
    let mut common: Vec<usize> = users.keys().copied().collect();
    common.sort_unstable();
    let mut unnamed = 0;
    let name = |step: &usize| match names.get(step) {
        Some(name) => (*name).to_owned(),
        None => {
            unnamed += 1;
            format!("common({unnamed})")
        }
    };
    let names: Vec<String> = common.iter().map(name).collect();
    // Those without anything in common stay as they are.
    let touched: BTreeSet<usize> = users.values().flatten().copied().collect();
    let cut = |(expression, (user, root)): (&&Compiled, (usize, &usize))| {
        let is_touched = touched.contains(&(all.steps.len() + user));
        if is_touched { all.cut(*root, &common, &names, false) } else { (*expression).clone() }
    };
    let numbered = roots.iter().enumerate();
    let expressions = expressions.iter().zip(numbered).map(cut).collect();
    let own = common.iter().map(|step| all.cut(*step, &common, &names, true));
    let common = names.iter().cloned().zip(own).collect();
    Shared { expressions, common }
}

/// The steps of several programs, equal ones once.
#[derive(Default)]
struct Merged {
    names: Vec<String>,
    inputs: Vec<TensorType>,
    rates: Vec<Rate>,
    steps: Vec<Step>,
    known: HashMap<(Op, Vec<usize>, TensorType), usize>,
    is_rounded: bool,
}

impl Merged {
    /// The step that is the value of an expression.
    fn add(&mut self, expression: &Compiled) -> usize {
        let program = expression.program();
        self.is_rounded |= program.is_rounded;
        let mut inputs = Vec::new();
        for (name, kind, rate) in expression.inputs() {
            let known =
                self.names.iter().zip(&self.inputs).position(|(n, k)| n == name && k == kind);
            inputs.push(known.unwrap_or_else(|| {
                self.names.push(name.to_owned());
                self.inputs.push(kind.clone());
                self.rates.push(rate);
                self.names.len() - 1
            }));
        }
        let mut places: Vec<usize> = Vec::with_capacity(program.steps.len());
        for step in &program.steps {
            let mut step = step.clone();
            step.operands.iter_mut().for_each(|o| *o = places[*o]);
            if let Op::Input(input) = &mut step.op {
                *input = inputs[*input];
            }
            let key = (step.op.clone(), step.operands.clone(), step.kind.clone());
            let next = self.steps.len();
            let at = *self.known.entry(key).or_insert(next);
            if at == next {
                self.steps.push(step);
            }
            places.push(at);
        }
        places[program.result]
    }

    /// Whether each step is a number of documents that is worth keeping.
    fn worth(&self) -> Vec<bool> {
        let mut weights: Vec<usize> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let is_of_documents = step.rate == Rate::Document;
            let takes_tensors = step
                .operands
                .iter()
                .any(|o| self.steps[*o].rate == Rate::Document && !self.steps[*o].kind.is_double());
            let own = match &step.op {
                Op::Input(_) | Op::Constant(_) => 0,
                // A cell of a tensor is only looked up.
                Op::Peek(_) => 1,
                Op::Fused(Fused::WeightedSum(terms)) => terms.len(),
                _ if takes_tensors || !step.kind.is_double() => WORTH,
                _ => 1,
            };
            let operands = step.operands.iter().map(|o| weights[*o]);
            // Steps that several others take count for each: it is no more than a measure.
            let sum = operands.fold(own, usize::saturating_add);
            weights.push(if is_of_documents { sum } else { 0 });
        }
        let is_number = |step: &Step| step.kind.is_double();
        self.steps.iter().zip(weights).map(|(s, w)| is_number(s) && w >= WORTH).collect()
    }

    /// The steps that are common, with those who take them: other common steps, and expressions by the number of steps and their
    /// own number.
    fn users(&self, roots: &[usize], worth: &[bool]) -> HashMap<usize, BTreeSet<usize>> {
        let mut users: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); self.steps.len()];
        for (number, root) in roots.iter().enumerate() {
            users[*root].insert(self.steps.len() + number);
        }
        let mut common = HashMap::new();
        // Whoever takes a step stands behind it.
        for at in (0..self.steps.len()).rev() {
            let of_step = std::mem::take(&mut users[at]);
            if of_step.is_empty() {
                continue;
            }
            let is_common = worth[at] && of_step.len() > 1;
            for operand in &self.steps[at].operands {
                match is_common {
                    true => drop(users[*operand].insert(at)),
                    false => users[*operand].extend(&of_step),
                }
            }
            if is_common {
                common.insert(at, of_step);
            }
        }
        common
    }

    /// The expression of a step that takes common ones by their names; `is_common` if it is one itself.
    fn cut(&self, root: usize, common: &[usize], names: &[String], is_common: bool) -> Compiled {
        let (mut all, mut inputs, mut rates) =
            (self.names.clone(), self.inputs.clone(), self.rates.clone());
        let mut steps = self.steps.clone();
        for (step, name) in common.iter().zip(names) {
            if is_common && *step == root {
                continue;
            }
            let kind = steps[*step].kind.clone();
            let op = Op::Input(all.len());
            all.push(name.clone());
            inputs.push(kind.clone());
            rates.push(Rate::Document);
            steps[*step] = Step { op, operands: Vec::new(), kind, rate: Rate::Document };
        }
        let program =
            Program { inputs, rates, steps, result: root, is_rounded: self.is_rounded }.pruned();
        let (program, names) = program.without_unused(all);
        Compiled::new(names, Arc::new(program))
    }
}

#[cfg(test)]
mod tests {
    use super::share;
    use crate::{Rate, TensorType, compile, parse_type};

    fn scope(name: &str) -> Option<(TensorType, Rate)> {
        let vector = parse_type("tensor<float>(x[2])").ok()?;
        match name.as_bytes()[0] {
            b'q' => Some((vector, Rate::Query)),
            b'd' => Some((vector, Rate::Document)),
            b'n' => Some((TensorType::double(), Rate::Document)),
            _ => None,
        }
    }

    #[test]
    fn what_is_worth_keeping_is_computed_once() {
        let named = compile("sum(q * d)", &scope).unwrap();
        for (label, texts, expected, common) in [
            (
                "a dot product",
                &["sum(q * d) + n", "2 * sum(q * d)"][..],
                &[&["n", "dot"][..], &["dot"]][..],
                &[("dot", &["q", "d"][..])][..],
            ),
            ("cheap", &["n * 2 + 1", "n * 2 + 2"], &[&["n"], &["n"]], &[]),
            (
                "of the query",
                &["sum(q * q2) + n", "sum(q * q2)"],
                &[&["q", "q2", "n"], &["q", "q2"]],
                &[],
            ),
            (
                "within one expression",
                &["sum(q * d) * sum(q * d)", "n"],
                &[&["q", "d"], &["n"]],
                &[],
            ),
            (
                "a whole expression",
                &["sum(q * d)", "exp(sum(q * d))"],
                &[&["dot"], &["dot"]],
                &[("dot", &["q", "d"])],
            ),
            (
                "only the larger one is taken",
                &["exp(sum(q * d)) + n", "exp(sum(q * d)) + 2"],
                &[&["n", "common(1)"], &["common(1)"]],
                &[("common(1)", &["q", "d"])],
            ),
            (
                "one within another",
                &["exp(sum(q * d)) + n", "exp(sum(q * d)) + 2", "sum(q * d) * n"],
                &[&["n", "common(1)"], &["common(1)"], &["n", "dot"]],
                &[("dot", &["q", "d"]), ("common(1)", &["dot"])],
            ),
            (
                "tensors stay where they are",
                &["sum(max(q * d, 1), x)", "sum(max(q * d, 2), x)"],
                &[&["q", "d"], &["q", "d"]],
                &[],
            ),
        ] {
            let compiled: Vec<_> = texts.iter().map(|t| compile(t, &scope).unwrap()).collect();
            let shared = share(&compiled.iter().collect::<Vec<_>>(), &[("dot".to_owned(), &named)]);
            let found: Vec<Vec<&str>> = shared
                .expressions
                .iter()
                .map(|e| e.names().iter().map(String::as_str).collect())
                .collect();
            assert_eq!(found, expected, "{label}");
            let found: Vec<(&str, Vec<&str>)> = shared
                .common
                .iter()
                .map(|(n, e)| (n.as_str(), e.names().iter().map(String::as_str).collect()))
                .collect();
            let common: Vec<(&str, Vec<&str>)> =
                common.iter().map(|(n, e)| (*n, e.to_vec())).collect();
            assert_eq!(found, common, "{label}");
        }
    }

    #[test]
    fn values_are_the_same() {
        let texts = ["exp(sum(q * d)) + n", "exp(sum(q * d)) + 2", "sum(q * d) * n"];
        let compiled = texts.map(|t| compile(t, &scope).unwrap());
        let shared = share(&compiled.iter().collect::<Vec<_>>(), &[]);
        let value = |text: &str| compile(text, &scope).unwrap().run(&[]).unwrap();
        let mut known: Vec<(String, crate::Value)> = [
            ("q", "tensor<float>(x[2]):[0.5,1]"),
            ("d", "tensor<float>(x[2]):[0.25,-1]"),
            ("n", "3"),
        ]
        .map(|(name, text)| (name.to_owned(), value(text)))
        .to_vec();
        let run = |e: &crate::Compiled, known: &[(String, crate::Value)]| {
            let of = |name: &String| &known.iter().find(|(n, _)| n == name).unwrap().1;
            e.run(&e.names().iter().map(of).collect::<Vec<_>>()).unwrap()
        };
        for (name, common) in &shared.common {
            let value = run(common, &known);
            known.push((name.clone(), value));
        }
        for (before, behind) in compiled.iter().zip(&shared.expressions) {
            assert_eq!(run(before, &known), run(behind, &known));
        }
    }
}
