//! Scan of opset 8, which has batches, as two Scans of later versions: one over the batch around one over each sequence
//! (ONNX, `docs/Changelog.md`, Scan-8).

use stead_onnx::{AttributeValue, Attributes, Graph, Node, ValueInfo, ValueType};
use stead_tensor::{DType, Tensor, TensorError};

use crate::error::{BuildError, LoadError};

/// The version whose operators are written.
const OPSET: i64 = 16;

/// Whether a node is such a Scan.
pub(super) fn has_batches(node: &Node) -> bool {
    node.op_type == "Scan" && node.domain.is_empty() && node.opset == 8
}

/// The same over `[batch, ...]` states and `[batch, positions, ...]` sequences. Sequences that have a length end there, and what is
/// collected of them is followed by zeros.
///
/// # Errors
/// [`LoadError::Node`]: fewer inputs or outputs than the attributes tell.
pub(super) fn over_batches(mut node: Node) -> Result<Node, LoadError> {
    let label = node.label();
    let refuse = |text: String| {
        let reason = BuildError::Arity(text);
        LoadError::Node { node: label.clone(), reason }
    };
    let attributes = &mut node.attributes;
    let scanned = attributes.int("num_scan_inputs")?.unwrap_or_default();
    let directions = attributes.ints("directions")?.unwrap_or_default().to_vec();
    let Some(AttributeValue::Graph(body)) = attributes.remove("body") else {
        return Err(attributes.missing("body").into());
    };
    let given = node.inputs.get(1..).unwrap_or_default();
    let counts = usize::try_from(scanned).ok().filter(|&n| n > 0).and_then(|scanned| {
        let states = given.len().checked_sub(scanned)?;
        let fits = body.inputs.len() == given.len() && body.outputs.len() >= states;
        fits.then_some((scanned, states))
    });
    let Some((scanned, states)) = counts else {
        return Err(refuse(format!(
            "num_scan_inputs is {scanned}, with {} inputs and a body of {} inputs and {} outputs",
            given.len(),
            body.inputs.len(),
            body.outputs.len()
        )));
    };
    let has_lengths = node.inputs.first().is_some_and(|name| !name.is_empty());

    let mut one = One { graph: Graph::default() };
    let mut inputs: Vec<String> = (0..given.len()).map(|at| format!("Scan-8:input:{at}")).collect();
    for (name, of) in inputs.iter().zip(&body.inputs) {
        one.takes(name, of.ty.clone());
    }
    let ends = match has_lengths {
        true => Some(one.ends(&mut inputs[states..])?),
        false => None,
    };
    let mut results: Vec<String> =
        (0..body.outputs.len()).map(|at| format!("Scan-8:output:{at}")).collect();
    let mut of_sequence = Attributes::of(label.clone());
    of_sequence.set("num_scan_inputs", AttributeValue::Int(scanned as i64));
    of_sequence.set("scan_input_directions", AttributeValue::Ints(directions));
    let types: Vec<ValueType> = body.outputs.iter().map(|output| output.ty.clone()).collect();
    of_sequence.set("body", AttributeValue::Graph(body));
    one.put("Scan", inputs, results.clone(), of_sequence);
    if let Some(ends) = ends {
        for result in &mut results[states..] {
            *result = one.padded(result, &ends);
        }
    }
    one.graph.outputs =
        results.into_iter().zip(types).map(|(name, ty)| unshaped(name, ty)).collect();

    if !has_lengths {
        node.inputs.remove(0);
    }
    node.opset = OPSET;
    node.attributes = Attributes::of(label.clone());
    node.attributes.set("num_scan_inputs", AttributeValue::Int(node.inputs.len() as i64));
    node.attributes.set("body", AttributeValue::Graph(one.graph));
    Ok(node)
}

/// The body that computes one sequence of a batch.
struct One {
    graph: Graph,
}

/// The lengths of sequences, the one that all of a batch have, and zero, as lists of one number.
struct Ends {
    length: String,
    longest: String,
}

const LENGTH: &str = "Scan-8:length";
const ZERO: &str = "Scan-8:zero";
const ONE: &str = "Scan-8:one";
const ALL: &str = "Scan-8:all";

impl One {
    /// Another input.
    fn takes(&mut self, name: &str, ty: ValueType) {
        self.graph.inputs.push(unshaped(name.to_owned(), ty));
    }

    fn put(
        &mut self,
        op_type: &str,
        inputs: Vec<String>,
        outputs: Vec<String>,
        attributes: Attributes,
    ) {
        self.graph.nodes.push(Node {
            name: String::new(),
            op_type: op_type.to_owned(),
            domain: String::new(),
            overload: String::new(),
            opset: OPSET,
            inputs,
            outputs,
            attributes,
        });
    }

    /// The result of an operator, by a name that no other has.
    fn call(
        &mut self,
        op_type: &str,
        inputs: &[&str],
        attribute: Option<(&str, AttributeValue)>,
    ) -> String {
        let name = format!("Scan-8:value:{}", self.graph.nodes.len());
        let mut attributes = Attributes::of(op_type.to_owned());
        if let Some((name, value)) = attribute {
            attributes.set(name, value);
        }
        let inputs = inputs.iter().map(|&input| input.to_owned()).collect();
        self.put(op_type, inputs, vec![name.clone()], attributes);
        name
    }

    /// Takes the length of a sequence as the first input, and cuts the sequences there.
    fn ends(&mut self, sequences: &mut [String]) -> Result<Ends, TensorError> {
        let length = ValueType::Tensor { dtype: DType::I64, dims: None };
        self.graph.inputs.insert(0, unshaped(LENGTH.to_owned(), length));
        for (name, number) in [(ZERO, 0), (ONE, 1), (ALL, i64::MAX)] {
            let number = Tensor::from_slice(&[number], &[1])?;
            self.graph.initializers.push((name.to_owned(), number));
        }
        let length = self.call("Reshape", &[LENGTH, ONE], None);
        let shape = self.call("Shape", &[&sequences[0]], None);
        let longest = self.call("Slice", &[&shape, ZERO, ONE], None);
        for sequence in sequences {
            *sequence = self.call("Slice", &[sequence, ZERO, &length], None);
        }
        Ok(Ends { length, longest })
    }

    /// What was collected of a sequence with zeros behind it, as long as the longest.
    fn padded(&mut self, collected: &str, ends: &Ends) -> String {
        let first = || Some(("axis", AttributeValue::Int(0)));
        let missing = self.call("Sub", &[&ends.longest, &ends.length], None);
        let shape = self.call("Shape", &[collected], None);
        let rest = self.call("Slice", &[&shape, ONE, ALL], None);
        let shape = self.call("Concat", &[&missing, &rest], first());
        let zeros = self.call("ConstantOfShape", &[&shape], None);
        let zeros = self.call("CastLike", &[&zeros, collected], None);
        self.call("Concat", &[collected, &zeros], first())
    }
}

/// A value of another shape than the one that was told: by one more dimension or one less.
fn unshaped(name: String, ty: ValueType) -> ValueInfo {
    let ty = match ty {
        ValueType::Tensor { dtype, .. } => ValueType::Tensor { dtype, dims: None },
        other => other,
    };
    ValueInfo { name, ty }
}
