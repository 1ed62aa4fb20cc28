//! What scripts do to tensors.

use stead_expr::{CellType, Cells, Dimension, Labels, TensorType, Value};

/// Cells above a threshold are 1, all others 0.
pub(super) fn binarize(value: &Value, threshold: f64) -> Option<Value> {
    let one = |cell: &f64| if *cell > threshold { 1.0 } else { 0.0 };
    let cells: Vec<f64> = value.cells().doubles().iter().map(one).collect();
    let cells = Cells::from_numbers(value.kind().cell(), &cells);
    Value::new(value.kind().clone(), labels(value), cells).ok()
}

/// Eight cells along the one indexed dimension as the bits of one, the first the highest; what is above 0 is a bit
/// (Vespa, `vespajlib/src/main/java/com/yahoo/tensor/Tensors.java`).
pub(super) fn pack_bits(value: &Value) -> Option<Value> {
    let kind = value.kind();
    if kind.indexed().count() != 1 {
        return None;
    }
    let pack = |d: &Dimension| match d.size() {
        Some(size) => Dimension::indexed(&d.name, size.div_ceil(8)),
        None => d.clone(),
    };
    let dimensions = kind.dimensions().iter().map(pack).collect();
    let packed = TensorType::new(CellType::Int8, dimensions).ok()?;
    let doubles = value.cells().doubles();
    let mut bytes = Vec::with_capacity(doubles.len().div_ceil(8));
    for block in doubles.chunks(kind.block_size().max(1)) {
        for eight in block.chunks(8) {
            let bit = |(at, cell): (usize, &f64)| u8::from(*cell > 0.0) << (7 - at);
            let byte = eight.iter().enumerate().map(bit).sum::<u8>();
            bytes.push(f64::from(byte as i8));
        }
    }
    Value::new(packed, labels(value), Cells::from_numbers(CellType::Int8, &bytes)).ok()
}

/// The same cells in the type of a field, if that has the same dimensions.
pub(super) fn converted(value: Value, kind: &TensorType) -> Option<Value> {
    if value.kind() == kind {
        return Some(value);
    }
    if value.kind().dimensions() != kind.dimensions() {
        return None;
    }
    let cells = Cells::from_numbers(kind.cell(), &value.cells().doubles());
    Value::new(kind.clone(), labels(&value), cells).ok()
}

/// Tensors, one for each element of a list, as a tensor with one mapped dimension more, `outer` or the only one there is, whose labels
/// are the numbers of the elements from 0.
#[must_use]
pub fn stacked(values: &[(usize, Value)], kind: &TensorType, outer: Option<&str>) -> Option<Value> {
    let at = match outer {
        Some(name) if kind.mapped_count() > 1 => kind.mapped().position(|d| &*d.name == name)?,
        _ => 0,
    };
    let inner = kind.mapped_count().checked_sub(1)?;
    let (mut labels, mut numbers) = (Vec::new(), Labels::default());
    let mut cells = Vec::with_capacity(values.len() * kind.block_size());
    for (number, value) in values {
        numbers.push(&number.to_string());
        let number = *numbers.as_slice().last()?;
        let blocks = value.cells().len().checked_div(kind.block_size())?;
        if value.kind().mapped_count() != inner || value.cells().len() != blocks * kind.block_size()
        {
            return None;
        }
        for block in 0..blocks {
            let own = value.labels().get(block * inner..(block + 1) * inner)?;
            labels.extend_from_slice(own.get(..at)?);
            labels.push(number);
            labels.extend_from_slice(own.get(at..)?);
        }
        cells.extend_from_slice(&value.cells().doubles());
    }
    // The labels are held by what they come from, and from here on by the tensor.
    Value::new(kind.clone(), Labels::hold(labels), Cells::from_numbers(kind.cell(), &cells)).ok()
}

fn labels(value: &Value) -> Labels {
    Labels::hold(value.labels().to_vec())
}

#[cfg(test)]
mod tests {
    use stead_expr::{Value, compile, parse_type};

    use super::{binarize, converted, pack_bits};

    fn literal(text: &str) -> Value {
        compile(text, &|_: &str| None).unwrap().run(&[]).unwrap()
    }

    #[test]
    fn cells_become_bits() {
        for (text, binary, packed) in [
            (
                "tensor<float>(x[10]):[1,-1,2,0,0,0,0,0.5,3,0]",
                "tensor<float>(x[10]):[1,0,1,0,0,0,0,1,1,0]",
                Some("tensor<int8>(x[2]):[-95,-128]"),
            ),
            (
                "tensor<bfloat16>(p{},x[2]):{a:[1,0],b:[0,1]}",
                "tensor<bfloat16>(p{},x[2]):{a:[1,0],b:[0,1]}",
                Some("tensor<int8>(p{},x[1]):{a:[-128],b:[64]}"),
            ),
            ("tensor(x{}):{a:2}", "tensor(x{}):{a:1}", None),
        ] {
            let value = literal(text);
            assert_eq!(binarize(&value, 0.0).unwrap(), literal(binary), "{text}");
            assert_eq!(pack_bits(&value), packed.map(literal), "{text}");
        }
    }

    #[test]
    fn cells_take_the_type_of_the_field() {
        let value = literal("tensor(x[2]):[1,2]");
        let kind = |text: &str| parse_type(text).unwrap();
        let found = converted(value.clone(), &kind("tensor<int8>(x[2])"));
        assert_eq!(found, Some(literal("tensor<int8>(x[2]):[1,2]")));
        assert_eq!(converted(value, &kind("tensor<int8>(y[2])")), None);
    }
}
