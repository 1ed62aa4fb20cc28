//! What an embedder makes of a text, and the tensors that it becomes.

use stead_embed::{normalize, pack_bits};
use stead_expr::{CellType, Cells, Labels, MAX_LABEL, TensorType, Value};

use super::Role;

/// What an embedder makes of a text, from which tensors of several types can be made.
#[derive(Debug, Clone)]
pub(crate) struct Embedding {
    /// How many ids the text has for the model.
    pub(crate) tokens: usize,
    pub(crate) vectors: Vectors,
}

/// The forms of embeddings.
#[derive(Debug, Clone)]
pub(crate) enum Vectors {
    /// The ids of tokens.
    Ids(Vec<u32>),
    /// One vector, not yet normalised.
    One(Vec<f32>),
    /// A vector of `width` cells for each token.
    Each { cells: Vec<f32>, width: usize },
    /// Words with their ids and weights.
    Words(Vec<(u32, String, f32)>),
    /// A tensor that code made.
    Tensor(Value),
}

impl Embedding {
    /// What it takes in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Embedding>()
            + match &self.vectors {
                Vectors::Ids(ids) => size_of_val(ids.as_slice()),
                Vectors::One(cells) | Vectors::Each { cells, .. } => size_of_val(cells.as_slice()),
                Vectors::Words(words) => words.iter().map(|(_, word, _)| 40 + word.len()).sum(),
                Vectors::Tensor(value) => 8 * value.cells().len() + 8 * value.labels().len(),
            }
    }
}

/// What a type must be for embeddings of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One indexed dimension.
    Ids,
    /// One indexed dimension of at most this size, or of an eighth of it in bits.
    One(usize),
    /// A mapped and an indexed dimension; the latter as above.
    Each(usize),
    /// One mapped dimension.
    Words,
    /// What code says to.
    Any,
}

impl Shape {
    /// Whether tensors of a type can be made, in words if not (texts: Vespa, `HuggingFaceEmbedder`, `ColBertEmbedder`, `SpladeEmbedder`).
    pub(crate) fn check(self, kind: &TensorType, role: Role) -> Result<(), String> {
        let sizes: Vec<usize> = kind.indexed().map(|(_, size)| size).collect();
        let has =
            |mapped: usize, indexed: usize| kind.mapped_count() == mapped && sizes.len() == indexed;
        let fits = |width: usize| {
            let (size, is_bits) =
                (sizes.first().copied().unwrap_or(0), kind.cell() == CellType::Int8);
            let needed = if is_bits { size.saturating_mul(8) } else { size };
            match (needed <= width, is_bits) {
                (true, _) => Ok(()),
                (false, true) => Err(format!("Cannot pack {width} into {size} int8's")),
                (false, false) => {
                    Err(format!("the model gives {width} cells, and {kind} has {size}"))
                }
            }
        };
        if kind.unbound().is_some() {
            return Err(format!(
                "Error in embedding to type '{kind}': the dimension needs a size."
            ));
        }
        match self {
            Shape::Any => Ok(()),
            Shape::Ids | Shape::One(_) if kind.dimensions().len() != 1 => {
                Err(format!("Error in embedding to type '{kind}': should only have one dimension."))
            }
            Shape::Ids | Shape::One(_) if sizes.is_empty() => {
                Err(format!("Error in embedding to type '{kind}': dimension should be indexed."))
            }
            Shape::Ids => Ok(()),
            Shape::One(width) => fits(width),
            Shape::Each(_) if !has(1, 1) => Err(format!(
                "Invalid colbert embedder tensor target destination. Wanted a mixed 2-d mapped-indexed tensor, got {kind}"
            )),
            Shape::Each(_) if kind.cell() == CellType::Int8 && role == Role::Query => {
                Err("ColBert query embed does not accept int8 tensor value type".to_owned())
            }
            Shape::Each(width) => fits(width),
            Shape::Words if !has(1, 0) => Err(format!(
                "Invalid splade embedder tensor destination. Wanted a mapped 1-d tensor, got {kind}"
            )),
            Shape::Words => Ok(()),
        }
    }
}

/// The tensor of a type, which was [checked](Shape::check). Of longer vectors the first cells are taken, and made to have length 1 then.
pub(crate) fn tensor(
    embedding: &Embedding,
    normalizes: bool,
    kind: &TensorType,
) -> Result<Value, String> {
    let size = kind.indexed().map(|(_, size)| size).next().unwrap_or(0);
    let is_bits = kind.cell() == CellType::Int8;
    let taken = if is_bits { size * 8 } else { size };
    let packed = |cells: &[f32]| -> Vec<f64> {
        match is_bits {
            true => pack_bits(cells).into_iter().map(f64::from).collect(),
            false => cells.iter().copied().map(f64::from).collect(),
        }
    };
    let (labels, cells) = match &embedding.vectors {
        Vectors::Ids(ids) => {
            let mut cells: Vec<f64> = ids.iter().take(size).copied().map(f64::from).collect();
            cells.resize(size, 0.0);
            (Labels::default(), cells)
        }
        Vectors::One(cells) => {
            let mut cells = cells.get(..taken).unwrap_or_default().to_vec();
            if normalizes {
                normalize(&mut cells);
            }
            (Labels::default(), packed(&cells))
        }
        Vectors::Each { cells, width } => {
            let (mut labels, mut all) = (Labels::default(), Vec::new());
            for (number, row) in cells.chunks_exact((*width).max(1)).enumerate() {
                labels.push(&number.to_string());
                all.extend(packed(row.get(..taken).unwrap_or_default()));
            }
            (labels, all)
        }
        Vectors::Words(words) => {
            if words.iter().any(|(_, word, _)| word.len() > MAX_LABEL) {
                return Err(format!("a word has more than {MAX_LABEL} bytes"));
            }
            let (mut labels, mut all) = (Labels::with_capacity(words.len()), Vec::new());
            for (at, (_, word, weight)) in words.iter().enumerate() {
                // Of ids with the same text the last has it.
                if words.iter().skip(at + 1).all(|(_, other, _)| other != word) {
                    labels.push(word);
                    all.push(f64::from(*weight));
                }
            }
            (labels, all)
        }
        Vectors::Tensor(value) if kind.takes(value.kind()) => return Ok(value.clone()),
        Vectors::Tensor(value) => {
            return Err(format!("gave a {} where a {kind} was asked for", value.kind()));
        }
    };
    let cells = Cells::from_numbers(kind.cell(), &cells);
    Value::new(kind.clone(), labels, cells).map_err(|e| e.to_string())
}

/// What stands for a text of blanks: zeros, or nothing where there are labels.
pub(crate) fn zeros(kind: &TensorType) -> Option<Value> {
    let count = if kind.mapped_count() == 0 { kind.block_size() } else { 0 };
    Value::new(kind.clone(), Labels::default(), Cells::zeros(kind.cell(), count)).ok()
}

#[cfg(test)]
mod tests {
    use stead_expr::{compile, parse_type};

    use super::*;

    fn of(vectors: Vectors) -> Embedding {
        Embedding { tokens: 2, vectors }
    }

    fn literal(text: &str) -> Value {
        compile(text, &|_: &str| None).unwrap().run(&[]).unwrap()
    }

    #[test]
    fn embeddings_become_tensors() {
        let one = || of(Vectors::One(vec![3.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0, 5.0]));
        let each = || of(Vectors::Each { cells: [[1.0_f32; 8], [-1.0; 8]].concat(), width: 8 });
        let word = |id, text: &str, weight| (id, text.to_owned(), weight);
        let words =
            || of(Vectors::Words(vec![word(3, "a", 1.5), word(4, "b", 2.0), word(9, "a", 0.5)]));
        for (label, embedding, normalizes, expected) in [
            ("cut", one(), false, "tensor<float>(x[3]):[3,4,0]"),
            ("normalised behind the cut", one(), true, "tensor<float>(x[2]):[0.6,0.8]"),
            ("other cells", one(), false, "tensor<bfloat16>(x[2]):[3,4]"),
            ("bits", one(), true, "tensor<int8>(x[1]):[-64]"),
            (
                "a vector for each token",
                each(),
                false,
                "tensor<float>(t{},x[2]):{0:[1,1],1:[-1,-1]}",
            ),
            ("bits for each token", each(), false, "tensor<int8>(t{},x[1]):{0:[-1],1:[0]}"),
            ("words, the last of two", words(), false, "tensor<float>(t{}):{b:2,a:0.5}"),
            ("ids", of(Vectors::Ids(vec![7, 8])), false, "tensor<float>(d[4]):[7,8,0,0]"),
            ("ids, cut", of(Vectors::Ids(vec![7, 8])), false, "tensor<float>(d[1]):[7]"),
        ] {
            let expected = literal(expected);
            assert_eq!(tensor(&embedding, normalizes, expected.kind()), Ok(expected), "{label}");
        }
    }

    #[test]
    fn types_that_do_not_fit_are_refused() {
        let (query, document) = (Role::Query, Role::Document);
        for (shape, role, kind, expected) in [
            (Shape::One(4), query, "tensor<float>(x[4])", None),
            (Shape::One(16), query, "tensor<int8>(x[2])", None),
            (
                Shape::One(4),
                query,
                "tensor<float>(x[5])",
                Some("the model gives 4 cells, and tensor<float>(x[5]) has 5"),
            ),
            (Shape::One(16), query, "tensor<int8>(x[3])", Some("Cannot pack 16 into 3 int8's")),
            (
                Shape::One(4),
                query,
                "tensor<float>(x[2],y[2])",
                Some(
                    "Error in embedding to type 'tensor<float>(x[2],y[2])': should only have one dimension.",
                ),
            ),
            (
                Shape::Ids,
                query,
                "tensor(x{})",
                Some("Error in embedding to type 'tensor(x{})': dimension should be indexed."),
            ),
            (Shape::Each(4), query, "tensor<float>(t{},x[4])", None),
            (Shape::Each(8), document, "tensor<int8>(t{},x[1])", None),
            (
                Shape::Each(8),
                query,
                "tensor<int8>(t{},x[1])",
                Some("ColBert query embed does not accept int8 tensor value type"),
            ),
            (
                Shape::Each(8),
                document,
                "tensor(x[8])",
                Some(
                    "Invalid colbert embedder tensor target destination. Wanted a mixed 2-d mapped-indexed tensor, got tensor(x[8])",
                ),
            ),
            (Shape::Words, query, "tensor(t{})", None),
            (
                Shape::Words,
                query,
                "tensor(x[8])",
                Some(
                    "Invalid splade embedder tensor destination. Wanted a mapped 1-d tensor, got tensor(x[8])",
                ),
            ),
        ] {
            let found = shape.check(&parse_type(kind).unwrap(), role);
            assert_eq!(found.err().as_deref(), expected, "{kind}");
        }
    }

    #[test]
    fn blanks_are_zeros() {
        for (kind, expected) in [
            ("tensor<float>(x[2])", "tensor<float>(x[2]):[0,0]"),
            ("tensor(t{})", "tensor(t{}):{}"),
        ] {
            assert_eq!(zeros(&parse_type(kind).unwrap()), Some(literal(expected)), "{kind}");
        }
    }
}
