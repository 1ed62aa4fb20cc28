//! Tensors to literals: `tensor<float>(x{}):{a:1.5}`.

use std::fmt;

use crate::types::CellType;
use crate::value::{Number, Value};

impl fmt::Display for Value {
    /// The literal that has this value, in its shortest form; a number is just that.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind();
        if let Some(number) = self.as_double() {
            return write!(f, "{number}");
        }
        write!(f, "{kind}:")?;
        let mapped = kind.mapped_count();
        if mapped == 0 {
            return block(self, 0, f);
        }
        let is_mixed = kind.indexed().next().is_some();
        f.write_str("{")?;
        for (number, at) in self.in_order_of_texts().into_iter().enumerate() {
            f.write_str(if number == 0 { "" } else { "," })?;
            // Several labels in short form would need braces within braces for each first label, which say less.
            let labels = &self.labels()[at * mapped..][..mapped];
            if mapped == 1 {
                write!(f, "{}:", quoted(&labels[0].text()))?;
                if is_mixed {
                    block(self, at, f)?
                } else {
                    cell(self, at, f)?
                }
                continue;
            }
            let size = kind.block_size();
            for offset in 0..size {
                f.write_str(if offset == 0 { "{" } else { ",{" })?;
                address(self, at, offset, f)?;
                f.write_str("}:")?;
                cell(self, at * size + offset, f)?;
            }
        }
        f.write_str("}")
    }
}

fn address(value: &Value, block: usize, cell: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let kind = value.kind();
    let (mut labels, mut strides) =
        (value.labels()[block * kind.mapped_count()..].iter(), kind.strides().into_iter());
    for (at, dimension) in kind.dimensions().iter().enumerate() {
        write!(f, "{}{}:", if at == 0 { "" } else { "," }, dimension.name)?;
        match dimension.size() {
            None => f.write_str(&quoted(&labels.next().map_or(String::new(), |l| l.text())))?,
            Some(size) => write!(f, "{}", cell / strides.next().unwrap_or(1) % size)?,
        }
    }
    Ok(())
}

/// The cells of a block in as many brackets as it has dimensions.
fn block(value: &Value, at: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let size = value.kind().block_size();
    let strides = value.kind().strides();
    // Brackets open where an index of an outer dimension begins: after each whole number of its cells.
    let ends: Vec<usize> = strides.iter().take(strides.len().saturating_sub(1)).copied().collect();
    for offset in 0..size {
        let open = ends.iter().filter(|s| offset % **s == 0).count();
        f.write_str(if offset == 0 { "[" } else { "," })?;
        f.write_str(&"[".repeat(open))?;
        cell(value, at * size + offset, f)?;
        let close = ends.iter().filter(|s| (offset + 1) % **s == 0).count();
        f.write_str(&"]".repeat(close))?;
    }
    f.write_str("]")
}

fn cell(value: &Value, at: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match (value.cells().number(at), value.kind().cell()) {
        // The shortest digits that give the same float again.
        (Some(Number::Float(number)), CellType::Float | CellType::BFloat16 | CellType::Float16) => {
            write!(f, "{}", number as f32)
        }
        (Some(number), _) => write!(f, "{number}"),
        (None, _) => f.write_str("0"),
    }
}

/// A label as it can stand in a literal: in quotes unless it is a name or a whole number.
fn quoted(label: &str) -> String {
    let is_plain = !label.is_empty() && label.bytes().all(crate::reader::is_name_byte);
    if is_plain {
        return label.to_owned();
    }
    let escape = |c: char| match c {
        '\'' => "\\'".to_owned(),
        '\\' => "\\\\".to_owned(),
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        other => other.to_string(),
    };
    format!("'{}'", label.chars().map(escape).collect::<String>())
}

#[cfg(test)]
mod tests {
    use crate::{Rate, TensorType, compile};

    #[test]
    fn literals_are_read_as_what_they_were_written_from() {
        let nothing = |_: &str| -> Option<(TensorType, Rate)> { None };
        for text in [
            "5",
            "-0.5",
            "tensor(x[3]):[1,-2,3.25]",
            "tensor<float>(x[2],y[2]):[[1,2],[3,0.1]]",
            "tensor(x[2],y[1],z[2]):[[[1,2]],[[3,4]]]",
            "tensor<int8>(x{}):{1:5,a:-1}",
            "tensor(x{}):{'':1}",
            "tensor(x{}):{'a b\\'\\\\\\n':1}",
            "tensor<bfloat16>(x{},y[2]):{a:[1,2]}",
            "tensor(x{},y{}):{{x:a,y:b}:1}",
            "tensor(x{}):{2:1,10:1,02:1,a:1,b:1,c:1,d:1,e:1}",
            "tensor(a{},x{},y[2]):{{a:p,x:q,y:0}:1,{a:p,x:q,y:1}:2}",
            "tensor(x{}):{}",
            "tensor<int64>(x[3]):[9007199254740993,-9223372036854775808,5]",
            "tensor<int64>(a{},b{}):{{a:p,b:q}:9223372036854775807}",
            "tensor<uint8>(x{}):{a:255}",
            "tensor<bool>(x[2]):[1,0]",
            "tensor<float16>(x[2]):[0.099975586,-65504]",
        ] {
            let value = compile(text, &nothing).unwrap().run(&[]).unwrap();
            assert_eq!(value.to_string(), text);
        }
    }
}
