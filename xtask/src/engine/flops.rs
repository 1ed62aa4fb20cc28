//! The arithmetic of a graph, counted from the shapes of its nodes.

use serde_json::Value;

/// What a run has to do at least.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Multiplications and additions of products, convolutions and recurrent cells; nothing else is counted.
    pub flops: u64,
    /// Bytes of the weights that these read.
    pub held: u64,
}

/// The shapes of a node's inputs and outputs.
struct Node<'a> {
    op: &'a str,
    inputs: Vec<Vec<u64>>,
    outputs: Vec<Vec<u64>>,
}

impl Work {
    /// The work of the nodes of a model: `{"held": bytes, "nodes": [[op, inputs, outputs], ...]}`, as `shapes.py`
    /// tells them.
    pub fn of(told: &Value) -> Option<Work> {
        let mut work = Work { held: told["held"].as_u64()?, ..Work::default() };
        for line in told["nodes"].as_array()? {
            let shapes = |at: usize| -> Option<Vec<Vec<u64>>> {
                let dims = |s: &Value| s.as_array()?.iter().map(Value::as_u64).collect();
                line.get(at)?.as_array()?.iter().map(dims).collect()
            };
            let node = Node { op: line.get(0)?.as_str()?, inputs: shapes(1)?, outputs: shapes(2)? };
            work.flops += node.flops();
        }
        Some(work)
    }
}

impl Node<'_> {
    fn flops(&self) -> u64 {
        let elements = |shape: Option<&Vec<u64>>| shape.map_or(0, |s| s.iter().product::<u64>());
        let dim = |shape: Option<&Vec<u64>>, at: usize| shape.and_then(|s| s.get(at)).copied();
        let (x, w) = (self.inputs.first(), self.inputs.get(1));
        let y = elements(self.outputs.first());
        match self.op {
            "MatMul" | "MatMulInteger" => 2 * y * x.and_then(|s| s.last()).copied().unwrap_or(0),
            // One of the operands may be transposed: the rows of the result tell which dimension is summed over.
            "Gemm" => {
                let rows = dim(self.outputs.first(), 0).unwrap_or(1).max(1);
                2 * y * (elements(x) / rows)
            }
            "Conv" | "ConvInteger" => 2 * y * (elements(w) / dim(w, 0).unwrap_or(1).max(1)),
            "ConvTranspose" => 2 * elements(x) * (elements(w) / dim(w, 0).unwrap_or(1).max(1)),
            "LSTM" | "GRU" | "RNN" => {
                let steps = dim(x, 0).unwrap_or(0) * dim(x, 1).unwrap_or(0);
                2 * steps * (elements(w) + elements(self.inputs.get(2)))
            }
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn work_follows_from_shapes() {
        let cases = [
            (
                "a product",
                json!(["MatMul", [[2, 3, 5], [2, 5, 7]], [[2, 3, 7]]]),
                2 * 2 * 3 * 5 * 7,
            ),
            ("a weight", json!(["MatMul", [[1, 5], [5, 7]], [[1, 7]]]), 2 * 5 * 7),
            ("integers", json!(["MatMulInteger", [[4, 5], [5, 7]], [[4, 7]]]), 2 * 4 * 5 * 7),
            ("transposed", json!(["Gemm", [[3, 5], [7, 5], [7]], [[3, 7]]]), 2 * 3 * 5 * 7),
            ("both transposed", json!(["Gemm", [[5, 3], [7, 5]], [[3, 7]]]), 2 * 3 * 5 * 7),
            (
                "a convolution",
                json!(["Conv", [[1, 4, 8, 8], [6, 4, 3, 3]], [[1, 6, 8, 8]]]),
                2 * 6 * 64 * 36,
            ),
            (
                "depthwise",
                json!(["Conv", [[1, 4, 8, 8], [4, 1, 3, 3]], [[1, 4, 8, 8]]]),
                2 * 4 * 64 * 9,
            ),
            (
                "up",
                json!(["ConvTranspose", [[1, 4, 2, 2], [4, 6, 2, 2]], [[1, 6, 4, 4]]]),
                2 * 16 * 24,
            ),
            (
                "recurrent",
                json!(["GRU", [[10, 1, 4], [1, 12, 4], [1, 12, 4]], [[10, 1, 1, 4]]]),
                2 * 10 * 96,
            ),
            ("others", json!(["Relu", [[4]], [[4]]]), 0),
        ];
        for (label, node, flops) in cases {
            let work = Work::of(&json!({"held": 3, "nodes": [node]}));
            assert_eq!(work, Some(Work { flops, held: 3 }), "{label}");
        }
        assert_eq!(Work::of(&json!({"nodes": []})), None);
    }
}
