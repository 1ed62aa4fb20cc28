//! Reads the equation of an Einsum node.

use crate::error::{BuildError, PlanError};

/// What a dimension is called: a letter, or one of those that an ellipsis stands for.
pub(super) type Label = u16;

/// Labels from here on stand for the dimensions of ellipses, the innermost first.
const ELLIPSIS: Label = 256;

/// One side of a comma: labels before and after an ellipsis, if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    before: Vec<Label>,
    after: Option<Vec<Label>>,
}

/// An equation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Equation {
    inputs: Vec<Term>,
    output: Option<Term>,
}

impl Equation {
    pub fn parse(text: &str, operands: usize) -> Result<Equation, BuildError> {
        let fail =
            |what: &str| BuildError::unsupported(format!("equation \"{text}\" of Einsum: {what}"));
        let plain: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let (left, right) = match plain.split_once("->") {
            Some((left, right)) => (left, Some(right)),
            None => (plain.as_str(), None),
        };
        let term = |part: &str| term(part).ok_or_else(|| fail("letters and one ellipsis expected"));
        let inputs = left.split(',').map(term).collect::<Result<Vec<_>, _>>()?;
        if inputs.len() != operands {
            return Err(fail(&format!("{} terms for {operands} operands", inputs.len())));
        }
        let output = right.map(term).transpose()?;
        if let Some(output) = &output {
            let labels: Vec<Label> = output.letters().collect();
            for (at, label) in labels.iter().enumerate() {
                let known = inputs.iter().any(|term| term.letters().any(|l| l == *label));
                if !known || labels[..at].contains(label) {
                    return Err(fail("each letter of the output must be in an input, once"));
                }
            }
        }
        Ok(Equation { inputs, output })
    }

    /// The labels of each operand of these ranks, and those of the output.
    pub fn labels(&self, ranks: &[usize]) -> Result<(Vec<Vec<Label>>, Vec<Label>), PlanError> {
        let mut widest = 0;
        let mut inputs = Vec::with_capacity(ranks.len());
        for (term, &rank) in self.inputs.iter().zip(ranks) {
            let named = term.letters().count();
            let hidden = rank.checked_sub(named).filter(|&n| n == 0 || term.after.is_some());
            let hidden = hidden.ok_or_else(|| {
                PlanError::shape(format!("{named} labels for an operand of rank {rank}"))
            })?;
            widest = widest.max(hidden);
            inputs.push(term.spread(hidden));
        }
        let output = match &self.output {
            Some(term) => term.spread(widest),
            None => {
                // Implicit: ellipses first, then the letters that stand only once, in order.
                let mut once: Vec<Label> = Vec::new();
                let all: Vec<Label> = self.inputs.iter().flat_map(Term::letters).collect();
                for label in &all {
                    if all.iter().filter(|l| *l == label).count() == 1 {
                        once.push(*label);
                    }
                }
                once.sort_unstable();
                Term { before: Vec::new(), after: Some(once) }.spread(widest)
            }
        };
        Ok((inputs, output))
    }
}

impl Term {
    fn letters(&self) -> impl Iterator<Item = Label> {
        self.before.iter().chain(self.after.iter().flatten()).copied()
    }

    /// The labels with `hidden` dimensions in place of the ellipsis.
    fn spread(&self, hidden: usize) -> Vec<Label> {
        let mut labels = self.before.clone();
        if let Some(after) = &self.after {
            labels.extend((0..hidden).rev().map(|i| ELLIPSIS + i as Label));
            labels.extend(after);
        }
        labels
    }
}

fn term(text: &str) -> Option<Term> {
    let letters = |part: &str| -> Option<Vec<Label>> {
        part.bytes().map(|b| b.is_ascii_alphabetic().then_some(Label::from(b))).collect()
    };
    match text.split_once("...") {
        Some((before, after)) => {
            Some(Term { before: letters(before)?, after: Some(letters(after)?) })
        }
        None => Some(Term { before: letters(text)?, after: None }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(labels: &[Label]) -> String {
        labels
            .iter()
            .map(
                |&l| {
                    if l < ELLIPSIS {
                        l as u8 as char
                    } else {
                        (b'0' + (l - ELLIPSIS) as u8) as char
                    }
                },
            )
            .collect()
    }

    #[test]
    fn equations_are_read() {
        let cases: [(&str, &[usize], &[&str], &str); 6] = [
            ("ij,jk->ik", &[2, 2], &["ij", "jk"], "ik"),
            ("ij , jk", &[2, 2], &["ij", "jk"], "ik"),
            ("...ii ->...i", &[3], &["0ii"], "0i"),
            ("b...,...b", &[3, 2], &["b10", "0b"], "10"),
            ("i->", &[1], &["i"], ""),
            ("ba", &[2], &["ba"], "ab"),
        ];
        for (equation, ranks, inputs, output) in cases {
            let parsed = Equation::parse(equation, ranks.len()).unwrap();
            let (got, out) = parsed.labels(ranks).unwrap();
            let got: Vec<String> = got.iter().map(|l| text(l)).collect();
            assert_eq!(
                (got.as_slice(), text(&out).as_str()),
                (inputs.iter().map(|s| s.to_string()).collect::<Vec<_>>().as_slice(), output),
                "{equation}"
            );
        }
        for (equation, operands) in
            [("ij,jk->ik", 1), ("i->ii", 1), ("i->j", 1), ("i1->i", 1), ("......", 1), ("i.j", 1)]
        {
            assert!(Equation::parse(equation, operands).is_err(), "{equation}");
        }
    }
}
