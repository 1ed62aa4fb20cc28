//! The tree of an `.xml` file as layers, ports and edges.

use super::xml::{Element, malformed};
use crate::error::{FormatError, check_limit, quote};
use std::collections::HashMap;
use stead_onnx::{Dim, Limits};
use stead_tensor::DType;

/// Layers that read each other's outputs: a model or the body of a layer.
#[derive(Debug)]
pub(super) struct Net {
    pub layers: Vec<Layer>,
    /// Where the input of a layer and port comes from.
    pub edges: HashMap<(usize, usize), (usize, usize)>,
}

/// One operation.
#[derive(Debug)]
pub(super) struct Layer {
    pub id: usize,
    pub name: String,
    pub kind: String,
    /// The operator set in which the operation came or was changed; `None` for operations of extensions.
    pub opset: Option<u32>,
    pub data: Vec<(String, String)>,
    pub inputs: Vec<Port>,
    pub outputs: Vec<Port>,
    /// The names of a Result.
    pub output_names: Vec<String>,
    /// The bodies by their element's name.
    pub bodies: Vec<Body>,
}

/// The value that enters or leaves a layer.
#[derive(Debug)]
pub(super) struct Port {
    pub id: usize,
    pub dtype: Option<DType>,
    /// `None` for a size that each call decides.
    pub dims: Vec<Option<usize>>,
    /// Sorted: the first is the one that OpenVINO Model Server shows.
    pub names: Vec<String>,
}

/// The body of a layer and how its values are those of the layer.
#[derive(Debug)]
pub(super) struct Body {
    pub name: &'static str,
    pub net: Net,
    pub inputs: Vec<Mapping>,
    pub outputs: Vec<Mapping>,
    /// From a Result of the body to the Parameter that is it in the next iteration.
    pub back: Vec<(usize, usize)>,
}

/// A value of a layer that is a value of its body.
#[derive(Debug)]
pub(super) struct Mapping {
    /// `None` for what only the loop itself reads or gives.
    pub external: Option<usize>,
    pub internal: usize,
    /// The axis along which iterations take or give slices.
    pub axis: Option<i64>,
    pub start: i64,
    pub end: i64,
    pub stride: i64,
    pub part: i64,
    pub purpose: Option<String>,
}

/// Elements of bodies with those of their port maps.
const BODIES: [(&str, &str); 3] =
    [("body", "port_map"), ("then_body", "then_port_map"), ("else_body", "else_port_map")];

impl Layer {
    /// What messages call this layer.
    pub fn label(&self) -> String {
        let version = self.opset.map_or(String::new(), |n| format!("-{n}"));
        format!("{}{version} layer {}", shown(&self.kind), quote(&self.name))
    }
}

/// A type of operation as messages show it: short, without what a terminal takes for more than text.
fn shown(kind: &str) -> String {
    kind.chars().filter(|c| c.is_alphanumeric() || "_.-:".contains(*c)).take(64).collect()
}

/// The layers of a `net` or of a body, and of the bodies in them, whose depth the parser has limited. `nodes` counts
/// all layers.
pub(super) fn read(
    element: &Element,
    nodes: &mut usize,
    limits: &Limits,
) -> Result<Net, FormatError> {
    let mut layers = Vec::new();
    for layer in element.within("layers").iter().filter(|e| e.name == "layer") {
        *nodes += 1;
        check_limit("layers of the model", *nodes as u64, limits.nodes as u64)?;
        layers.push(read_layer(layer, nodes, limits)?);
    }
    let mut edges = HashMap::new();
    for edge in element.within("edges").iter().filter(|e| e.name == "edge") {
        let to = (number(edge, "to-layer")?, number(edge, "to-port")?);
        let from = (number(edge, "from-layer")?, number(edge, "from-port")?);
        if edges.insert(to, from).is_some() {
            return Err(malformed(format!("port {} of layer {} has two edges", to.1, to.0)));
        }
    }
    Ok(Net { layers, edges })
}

fn read_layer(element: &Element, nodes: &mut usize, limits: &Limits) -> Result<Layer, FormatError> {
    let text = |name: &str| element.attribute(name).unwrap_or_default().to_owned();
    let version = element.attribute("version").unwrap_or_default();
    let mut bodies = Vec::new();
    for (name, map) in BODIES {
        if let Some(body) = element.child(name) {
            let net = read(body, nodes, limits)?;
            let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
            for mapping in element.within(map) {
                match mapping.name.as_str() {
                    "input" => inputs.push(read_mapping(mapping)?),
                    "output" => outputs.push(read_mapping(mapping)?),
                    _ => {}
                }
            }
            let edges = element.within("back_edges").iter().filter(|e| e.name == "edge");
            let back = edges.map(|e| Ok((number(e, "from-layer")?, number(e, "to-layer")?)));
            let back = back.collect::<Result<_, FormatError>>()?;
            bodies.push(Body { name, net, inputs, outputs, back });
        }
    }
    Ok(Layer {
        id: number(element, "id")?,
        name: text("name"),
        kind: text("type"),
        opset: version.strip_prefix("opset").and_then(|n| n.parse().ok()),
        data: element.child("data").map(|d| d.attributes.clone()).unwrap_or_default(),
        inputs: read_ports(element.within("input"))?,
        outputs: read_ports(element.within("output"))?,
        output_names: names(element.attribute("output_names").unwrap_or_default()),
        bodies,
    })
}

fn read_ports(elements: &[Element]) -> Result<Vec<Port>, FormatError> {
    let mut ports = Vec::new();
    for element in elements.iter().filter(|e| e.name == "port") {
        let precision = element.attribute("precision").unwrap_or_default();
        let dims = element.children.iter().filter(|c| c.name == "dim");
        ports.push(Port {
            id: number(element, "id")?,
            dtype: dtype(&precision.to_ascii_lowercase()),
            // A size that is open is -1.
            dims: dims.map(|d| d.text.parse().ok()).collect(),
            names: names(element.attribute("names").unwrap_or_default()),
        });
    }
    Ok(ports)
}

fn read_mapping(element: &Element) -> Result<Mapping, FormatError> {
    let integer = |name: &str, default: i64| match element.attribute(name) {
        None => Ok(default),
        Some(text) => text.trim().parse().map_err(|_| bad(name, text)),
    };
    let external = integer("external_port_id", -1)?;
    Ok(Mapping {
        external: usize::try_from(external).ok(),
        internal: number(element, "internal_layer_id")?,
        axis: element.attribute("axis").map(|_| integer("axis", 0)).transpose()?,
        start: integer("start", 0)?,
        end: integer("end", -1)?,
        stride: integer("stride", 1)?,
        part: integer("part_size", 1)?,
        purpose: element.attribute("purpose").map(str::to_owned),
    })
}

/// Names separated by commas; a comma within a name has a backslash before it.
fn names(text: &str) -> Vec<String> {
    let (mut names, mut name, mut escaped) = (Vec::new(), String::new(), false);
    for c in text.chars() {
        match c {
            ',' if !escaped => names.push(std::mem::take(&mut name)),
            '\\' if !escaped => {
                escaped = true;
                continue;
            }
            c => name.push(c),
        }
        escaped = false;
    }
    names.push(name);
    names.retain(|n| !n.is_empty());
    names.sort();
    names
}

fn number(element: &Element, name: &str) -> Result<usize, FormatError> {
    let text = element.attribute(name);
    let text = text.ok_or_else(|| malformed(format!("<{}> has no {name}", element.name)))?;
    text.trim().parse().map_err(|_| bad(name, text))
}

fn bad(name: &str, text: &str) -> FormatError {
    malformed(format!("{name} is {}", quote(text)))
}

/// The element type of a name, as `f32`, `FP32`.
pub(super) fn dtype(name: &str) -> Option<DType> {
    Some(match name {
        "f32" | "fp32" => DType::F32,
        "f16" | "fp16" => DType::F16,
        "f64" | "fp64" => DType::F64,
        "bf16" => DType::BF16,
        "i8" => DType::I8,
        "i16" => DType::I16,
        "i32" => DType::I32,
        "i64" => DType::I64,
        "u8" => DType::U8,
        "u16" => DType::U16,
        "u32" => DType::U32,
        "u64" => DType::U64,
        "i4" => DType::I4,
        "u4" => DType::U4,
        "boolean" | "bool" => DType::Bool,
        "string" => DType::String,
        _ => return None,
    })
}

/// The dimensions of `shape="1,?,2..8"`; `None` for `...`, of which not even the number is known.
pub(super) fn shape(text: &str) -> Result<Option<Vec<Dim>>, FormatError> {
    let text = text.trim().trim_start_matches('[').trim_end_matches(']');
    if text == "..." {
        return Ok(None);
    }
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let dim = |part: &str| match part {
        "?" | "-1" => Ok(Dim::Unknown),
        range if range.contains("..") => Ok(Dim::Unknown),
        size => size.parse().map(Dim::Known).map_err(|_| bad("shape", text)),
    };
    parts.map(dim).collect::<Result<_, _>>().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_at_commas_that_are_not_escaped() {
        assert_eq!(names("b,a"), ["a", "b"]);
        assert_eq!(names("a\\,b,c"), ["a,b", "c"]);
        assert!(names("").is_empty());
    }

    #[test]
    fn shapes() {
        let known = |sizes: &[usize]| Some(sizes.iter().map(|&n| Dim::Known(n)).collect());
        assert_eq!(shape("1, 43"), Ok(known(&[1, 43])));
        assert_eq!(shape(""), Ok(Some(vec![])));
        assert_eq!(shape("..."), Ok(None));
        assert_eq!(shape("?,2..8"), Ok(Some(vec![Dim::Unknown, Dim::Unknown])));
        assert!(shape("1,x").is_err());
    }
}
