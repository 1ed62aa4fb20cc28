//! `embed`: which tensors it makes of which texts (texts: Vespa, `EmbedExpression`).

use stead_expr::{CellType, Dimension, TensorType};

use crate::schema::{Argument, FieldType, IndexingLiteral, Operation, Step};

/// Where the value of an `embed` goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmbedTarget<'s> {
    /// The field; nothing for that whose script it is.
    pub field: Option<&'s str>,
    /// Whether its bits are packed on the way.
    pub packs: bool,
}

/// Where a value goes that the steps before these give.
#[must_use]
pub fn embed_target(behind: &[Step]) -> EmbedTarget<'_> {
    let mut packs = false;
    for step in behind {
        match &step.operation {
            Operation::Call("pack_bits", _) => packs = true,
            Operation::Call("attribute" | "index" | "summary" | "passthrough", arguments) => {
                let field = match arguments.first() {
                    Some(Argument::Name(name)) => Some(name.as_str()),
                    _ => None,
                };
                return EmbedTarget { field, packs };
            }
            _ => {}
        }
    }
    EmbedTarget { field: None, packs }
}

impl EmbedTarget<'_> {
    /// The type that `embed` makes where the field has this one.
    #[must_use]
    pub fn kind(&self, of_field: &TensorType) -> TensorType {
        if !self.packs {
            return of_field.clone();
        }
        let unpack = |d: &Dimension| match d.size() {
            Some(size) => Dimension::indexed(&d.name, size.saturating_mul(8)),
            None => d.clone(),
        };
        let dimensions = of_field.dimensions().iter().map(unpack).collect();
        TensorType::new(CellType::Float, dimensions).unwrap_or_else(|_| of_field.clone())
    }
}

/// The dimension whose labels are the numbers of the texts of an array: the argument behind the id.
#[must_use]
pub fn embed_dimension(arguments: &[Argument]) -> Option<&str> {
    match arguments.get(1) {
        Some(Argument::Name(name) | Argument::Literal(IndexingLiteral::Text(name))) => Some(name),
        _ => None,
    }
}

/// The type of the tensor of one text of an array, of which tensors of `kind` are made; nothing if there is none.
#[must_use]
pub fn embed_of_element(kind: &TensorType, dimension: Option<&str>) -> Option<TensorType> {
    let outer = match (kind.mapped_count(), dimension) {
        (1, _) => kind.mapped().next()?,
        (2, Some(name)) => kind.dimension(name).filter(|d| d.is_mapped())?,
        _ => return None,
    };
    let inner: Vec<Dimension> = kind.dimensions().iter().filter(|d| *d != outer).cloned().collect();
    (!inner.is_empty()).then(|| TensorType::new(kind.cell(), inner).ok()).flatten()
}

/// What is wrong with an `embed` of values of a type, if that is known, to a tensor.
pub(super) fn wrong(
    input: Option<&FieldType>,
    kind: &TensorType,
    arguments: &[Argument],
) -> Option<String> {
    let is_array = match input {
        None => None,
        Some(FieldType::Array(of)) if **of == FieldType::String => Some(true),
        Some(FieldType::String | FieldType::Uri) => Some(false),
        Some(other) => {
            return Some(format!(
                "This requires either a string or array<string> input type, but got {other}"
            ));
        }
    };
    embed_misfit(is_array, kind, embed_dimension(arguments))
}

/// Why no tensor of a type can be made of a text, or of an array of them, if it is known which: `dimension` has the numbers of the texts.
#[must_use]
pub fn embed_misfit(
    is_array: Option<bool>,
    kind: &TensorType,
    dimension: Option<&str>,
) -> Option<String> {
    let (mapped, indexed) = (kind.mapped_count(), kind.indexed().count());
    if !matches!((mapped, indexed), (0, 1) | (1, 0 | 1) | (2, 0 | 1)) {
        return Some(
            "The embedding target field must either be a dense 1d tensor, a mapped 1d tensor, a mapped 2d tensor, an array of dense 1d tensors, or a mixed 2d or 3d tensor"
                .to_owned(),
        );
    }
    if mapped == 2 {
        let (of, example) = if indexed == 0 { ("2d mapped", "splade") } else { ("3d", "colbert") };
        let Some(name) = dimension else {
            return Some(format!(
                "When the embedding target field is a {of} tensor the name of the tensor dimension that corresponds to the input array elements must be given as a second argument to embed, e.g: ... | embed {example} paragraph | ..."
            ));
        };
        if kind.dimension(name).is_none_or(|d| !d.is_mapped()) {
            return Some(format!(
                "The dimension '{name}' given to embed is not a sparse dimension of the target type {kind}"
            ));
        }
    }
    match is_array {
        Some(false) if mapped == 2 => Some(format!(
            "Input is a string, so output must be a rank 1 tensor, or a rank 2 tensor with one mapped dimension, but got {kind}"
        )),
        Some(true) if mapped == 0 || mapped + indexed < 2 => Some(format!(
            "Input is an array, so output must be a rank 2 or 3 tensor with at least one mapped dimension, but got {kind}"
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use stead_expr::parse_type;

    use super::*;

    fn dimension(name: &str) -> Vec<Argument> {
        vec![Argument::Name("e".to_owned()), Argument::Name(name.to_owned())]
    }

    #[test]
    fn targets_are_those_of_vespa() {
        let (text, texts) = (FieldType::String, FieldType::Array(Box::new(FieldType::String)));
        for (input, kind, arguments, expected) in [
            (&text, "tensor<float>(x[4])", vec![], None),
            (&text, "tensor<float>(t{},x[4])", vec![], None),
            (&text, "tensor<float>(t{})", vec![], None),
            (&texts, "tensor<float>(p{},x[4])", vec![], None),
            (&texts, "tensor<float>(p{},t{},x[4])", dimension("p"), None),
            (&texts, "tensor<float>(p{},t{})", dimension("p"), None),
            (&text, "tensor<float>(x[4],y[4])", vec![], Some("The embedding target field must")),
            (
                &text,
                "tensor<float>(p{},t{})",
                dimension("p"),
                Some("Input is a string, so output must be a rank 1"),
            ),
            (
                &texts,
                "tensor<float>(x[4])",
                vec![],
                Some("Input is an array, so output must be a rank 2 or 3"),
            ),
            (
                &texts,
                "tensor<float>(t{})",
                vec![],
                Some("Input is an array, so output must be a rank 2 or 3"),
            ),
            (
                &texts,
                "tensor<float>(p{},t{})",
                vec![],
                Some("When the embedding target field is a 2d mapped tensor"),
            ),
            (
                &texts,
                "tensor<float>(p{},t{},x[4])",
                vec![],
                Some("When the embedding target field is a 3d tensor"),
            ),
            (
                &texts,
                "tensor<float>(p{},t{},x[4])",
                dimension("x"),
                Some("The dimension 'x' given to embed is not a sparse"),
            ),
            (
                &FieldType::Int,
                "tensor<float>(x[4])",
                vec![],
                Some("This requires either a string or array<string> input type, but got int"),
            ),
        ] {
            let found = wrong(Some(input), &parse_type(kind).unwrap(), &arguments);
            match expected {
                None => assert_eq!(found, None, "{kind}"),
                Some(text) => assert!(found.unwrap_or_default().starts_with(text), "{kind}"),
            }
        }
    }

    #[test]
    fn elements_have_types_of_their_own() {
        for (kind, outer, expected) in [
            ("tensor<float>(p{},x[4])", None, Some("tensor<float>(x[4])")),
            ("tensor<int8>(p{},t{},x[4])", Some("p"), Some("tensor<int8>(t{},x[4])")),
            ("tensor<float>(p{},t{})", Some("t"), Some("tensor<float>(p{})")),
            ("tensor<float>(p{},t{})", None, None),
            ("tensor<float>(p{})", None, None),
            ("tensor<float>(x[4])", None, None),
        ] {
            let found = embed_of_element(&parse_type(kind).unwrap(), outer);
            assert_eq!(found, expected.map(|text| parse_type(text).unwrap()), "{kind}");
        }
        let packs = EmbedTarget { field: None, packs: true };
        let bits = parse_type("tensor<int8>(p{},x[4])").unwrap();
        assert_eq!(packs.kind(&bits), parse_type("tensor<float>(p{},x[32])").unwrap());
    }
}
