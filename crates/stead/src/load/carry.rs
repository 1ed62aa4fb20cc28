//! State that the client carries from the answer of a step into the request of the next one.

use std::str::FromStr;

use super::signals::{Frame, RawTensor};

/// An input of a step that is an output of the step before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carry {
    /// The input.
    pub input: String,
    /// The output.
    pub output: String,
}

impl FromStr for Carry {
    type Err = String;

    fn from_str(text: &str) -> Result<Carry, String> {
        match text.split_once('=') {
            Some((input, output)) if !input.is_empty() && !output.is_empty() => {
                Ok(Carry { input: input.to_owned(), output: output.to_owned() })
            }
            _ => Err("expected INPUT=OUTPUT, as in state=stateN".to_owned()),
        }
    }
}

/// What one sequence carries; nothing before its first answer.
#[derive(Debug, Default)]
pub struct Carried<'a> {
    pairs: &'a [Carry],
    /// Under the names of the inputs.
    values: Vec<RawTensor>,
}

impl<'a> Carried<'a> {
    /// The beginning of a sequence.
    pub fn new(pairs: &'a [Carry]) -> Carried<'a> {
        Carried { pairs, values: Vec::new() }
    }

    /// The inputs of a step: those of `frame`, but for the carried ones.
    pub fn inputs<'b>(&'b self, frame: Option<&'b Frame>) -> Vec<&'b RawTensor> {
        let carried = |name: &str| self.values.iter().find(|v| v.name == name);
        let raw = frame.map(|frame| &*frame.raw).unwrap_or_default();
        raw.iter().map(|tensor| carried(&tensor.name).unwrap_or(tensor)).collect()
    }

    /// Keeps the outputs that the next step takes.
    ///
    /// # Errors
    /// A missing output, by name.
    pub fn take(&mut self, outputs: Vec<RawTensor>) -> Result<(), String> {
        if self.pairs.is_empty() {
            return Ok(());
        }
        let next = |pair: &Carry| {
            let output = outputs.iter().find(|o| o.name == pair.output);
            let output = output.ok_or_else(|| format!("no output `{}`", pair.output))?;
            Ok(RawTensor { name: pair.input.clone(), ..output.clone() })
        };
        self.values = self.pairs.iter().map(next).collect::<Result<_, String>>()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(name: &str, bytes: &'static [u8]) -> RawTensor {
        RawTensor {
            name: name.to_owned(),
            datatype: "UINT8".to_owned(),
            shape: vec![bytes.len() as i64],
            bytes: bytes.into(),
        }
    }

    #[test]
    fn an_output_goes_into_the_next_step() {
        let pairs = ["h=hN".parse::<Carry>().unwrap()];
        let frame = Frame { tensors: Vec::new(), raw: vec![tensor("x", b"1"), tensor("h", b"0")] };
        let mut carried = Carried::new(&pairs);
        let sent = |carried: &Carried<'_>| -> Vec<RawTensor> {
            carried.inputs(Some(&frame)).into_iter().cloned().collect()
        };
        assert_eq!(sent(&carried), frame.raw);
        // A state may grow.
        carried.take(vec![tensor("y", b"9"), tensor("hN", b"77")]).unwrap();
        assert_eq!(sent(&carried), [tensor("x", b"1"), tensor("h", b"77")]);
        assert_eq!(carried.take(vec![tensor("y", b"9")]), Err("no output `hN`".to_owned()));
    }

    #[test]
    fn pairs_have_two_names() {
        for text in ["state", "=a", "a=", ""] {
            assert!(text.parse::<Carry>().is_err(), "{text}");
        }
    }
}
