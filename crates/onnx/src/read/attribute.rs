//! Attributes.

use super::{
    Source, check_name, graph, sparse::read_sparse, tensor::read_tensor, types::read_type,
};
use crate::{AttributeKind, AttributeValue, Attributes, OnnxError, error, error::quote, proto};
use graph::Scope;

/// The most attributes of a node; real ones have up to some twenty. Look-ups walk over the list.
const MAX_ATTRIBUTES: u64 = 1024;

/// The attributes of the node that messages call `node`.
pub(super) fn read_attributes(
    protos: Vec<proto::AttributeProto>,
    node: String,
    scope: &Scope<'_>,
    source: &mut Source<'_>,
) -> Result<Attributes, OnnxError> {
    error::check_limit(&format!("attributes of {node}"), protos.len() as u64, MAX_ATTRIBUTES)?;
    let mut attributes = Attributes::of(node.clone());
    for proto in protos {
        let name = proto.name.clone().unwrap_or_default();
        check_name("attribute", &name, source.limits)?;
        let value = read_attribute(proto, &name, &node, scope, source)?;
        if attributes.set(&name, value).is_some() {
            return Err(OnnxError::DuplicateAttribute { node, attribute: quote(&name) });
        }
    }
    Ok(attributes)
}

fn read_attribute(
    proto: proto::AttributeProto,
    name: &str,
    node: &str,
    scope: &Scope<'_>,
    source: &mut Source<'_>,
) -> Result<AttributeValue, OnnxError> {
    use AttributeKind as Kind;
    let kind = match proto.r#type.unwrap_or_default() {
        0 => infer_kind(&proto),
        number => AttributeKind::from_onnx_number(number),
    };
    let number = proto.r#type.unwrap_or_default();
    let place = || format!("{node}: attribute {}", quote(name));
    let kind = kind.ok_or_else(|| OnnxError::UnknownNumber {
        place: place(),
        what: "attribute type",
        number: number.into(),
    })?;
    if let Some(reference) = proto.ref_attr_name.filter(|name| !name.is_empty()) {
        check_name("attribute", &reference, source.limits)?;
        if !scope.in_function {
            let (node, attribute) = (node.to_owned(), quote(name));
            return Err(OnnxError::StrayReference { node, attribute });
        }
        return Ok(AttributeValue::Ref { name: reference, kind });
    }
    let missing = || OnnxError::Missing { place: place(), what: "value" };
    let label = || format!("of {}", place());
    // A writer may leave out a scalar that is zero or empty.
    Ok(match kind {
        Kind::Float => AttributeValue::Float(proto.f.unwrap_or_default()),
        Kind::Int => AttributeValue::Int(proto.i.unwrap_or_default()),
        Kind::String => AttributeValue::String(proto.s.unwrap_or_default()),
        Kind::Floats => AttributeValue::Floats(proto.floats),
        Kind::Ints => AttributeValue::Ints(proto.ints),
        Kind::Strings => AttributeValue::Strings(proto.strings),
        Kind::Tensor => {
            let tensor = proto.t.ok_or_else(missing)?;
            AttributeValue::Tensor(read_tensor(*tensor, &label(), source)?.1)
        }
        Kind::Tensors => AttributeValue::Tensors(each(proto.tensors, |tensor| {
            Ok(read_tensor(tensor, &label(), source)?.1)
        })?),
        Kind::SparseTensor => {
            let tensor = proto.sparse_tensor.ok_or_else(missing)?;
            AttributeValue::SparseTensor(read_sparse(*tensor, &label(), source)?.1)
        }
        Kind::SparseTensors => {
            AttributeValue::SparseTensors(each(proto.sparse_tensors, |tensor| {
                Ok(read_sparse(tensor, &label(), source)?.1)
            })?)
        }
        Kind::Graph => {
            let inner = proto.g.ok_or_else(missing)?;
            AttributeValue::Graph(graph::read_graph(*inner, &scope.deeper(), source)?)
        }
        Kind::Graphs => AttributeValue::Graphs(each(proto.graphs, |inner| {
            graph::read_graph(inner, &scope.deeper(), source)
        })?),
        Kind::Type => AttributeValue::Type(read_type(*proto.tp.ok_or_else(missing)?, name)?),
        Kind::Types => AttributeValue::Types(each(proto.type_protos, |ty| read_type(ty, name))?),
    })
}

fn each<P, T>(
    protos: Vec<P>,
    read: impl FnMut(P) -> Result<T, OnnxError>,
) -> Result<Vec<T>, OnnxError> {
    protos.into_iter().map(read).collect()
}

/// The kind of an attribute of a writer that left out `type`: the first field that is set.
fn infer_kind(proto: &proto::AttributeProto) -> Option<AttributeKind> {
    use AttributeKind as Kind;
    let set = [
        (Kind::Float, proto.f.is_some()),
        (Kind::Int, proto.i.is_some()),
        (Kind::String, proto.s.is_some()),
        (Kind::Tensor, proto.t.is_some()),
        (Kind::Graph, proto.g.is_some()),
        (Kind::SparseTensor, proto.sparse_tensor.is_some()),
        (Kind::Type, proto.tp.is_some()),
        (Kind::Floats, !proto.floats.is_empty()),
        (Kind::Ints, !proto.ints.is_empty()),
        (Kind::Strings, !proto.strings.is_empty()),
        (Kind::Tensors, !proto.tensors.is_empty()),
        (Kind::Graphs, !proto.graphs.is_empty()),
        (Kind::SparseTensors, !proto.sparse_tensors.is_empty()),
        (Kind::Types, !proto.type_protos.is_empty()),
    ];
    set.into_iter().find(|(_, is_set)| *is_set).map(|(kind, _)| kind)
}
