//! Moves weights to aligned addresses within the file's buffer.
//!
//! Protobuf puts `raw_data` wherever the fields before it end, so three of four `f32` tensors of a file are
//! misaligned. Copying them would hold most weights twice, for the buffer stays as long as one tensor
//! borrows from it. But once the message is decoded nobody needs the bytes between the weights (tags,
//! lengths, names), and these leave enough room to move every payload down to an aligned place.

use super::buffers::Buffers;
use crate::{OnnxError, error, proto};
use prost::bytes::Bytes;
use std::ops::Range;
use stead_tensor::{ALIGNMENT, AlignedBuf};

/// What a payload may be aligned to, best first: a cache line, a vector, the widest element.
const WISHES: [usize; 4] = [ALIGNMENT, 32, 16, 8];

/// Aligns every `raw_data` of `model` that lies in the main one of `buffers`, as far as there is room;
/// returns the buffers that the fields borrow from now. Other buffers hold one payload each and are aligned.
pub(super) fn align(
    model: &mut proto::ModelProto,
    mut buffers: Buffers,
) -> Result<Buffers, OnnxError> {
    let mut places: Vec<Range<usize>> = Vec::new();
    each_tensor(model, &mut |tensor| {
        let Some(raw) = tensor.raw_data.take() else { return };
        match buffers.main_place_of(&raw) {
            Some(place) => places.push(place),
            None => tensor.raw_data = Some(raw),
        }
        // What was taken is marked by an empty value: no one else borrows from the main buffer now.
        tensor.raw_data.get_or_insert_with(Bytes::new);
    });
    buffers.change_main(|buffer| pack(buffer, &mut places));
    let main = buffers.main_bytes();
    let mut places = places.into_iter();
    let mut lost = false;
    each_tensor(model, &mut |tensor| {
        if tensor.raw_data.as_ref().is_some_and(Bytes::is_empty) {
            match places.next().filter(|place| place.end <= main.len()) {
                Some(place) => tensor.raw_data = Some(main.slice(place)),
                None => lost = true,
            }
        }
    });
    if lost || places.next().is_some() {
        return Err(error::malformed("an onnx model", &"tensor data outside of the file"));
    }
    Ok(buffers)
}

/// Moves the ranges of `buffer` down to aligned places, in the order in which they lie, and updates them.
fn pack(buffer: &mut AlignedBuf, places: &mut [Range<usize>]) {
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.retain(|&i| !places[i].is_empty());
    order.sort_unstable_by_key(|&i| places[i].start);
    let mut free = 0usize;
    for i in order {
        let Range { start, end } = places[i].clone();
        let fits =
            |align: usize| Some(free.max(1).next_multiple_of(align)).filter(|&at| at <= start);
        if free > start {
            // Fields do not overlap in a decoded message; should they, nothing is moved.
            return;
        }
        let first = if free == 0 { Some(0) } else { None };
        let to = first.or_else(|| WISHES.iter().find_map(|&align| fits(align))).unwrap_or(start);
        buffer.copy_within(start..end, to);
        places[i] = to..to + (end - start);
        free = to + (end - start);
    }
}

/// Calls `visit` for every tensor of the model in a fixed order. The depth is that of the decoder, which
/// ends at 100 nested messages.
pub(super) fn each_tensor(
    model: &mut proto::ModelProto,
    visit: &mut dyn FnMut(&mut proto::TensorProto),
) {
    if let Some(graph) = &mut model.graph {
        each_in_graph(graph, visit);
    }
    for function in &mut model.functions {
        function.attribute_proto.iter_mut().for_each(|a| each_in_attribute(a, visit));
        for node in &mut function.node {
            node.attribute.iter_mut().for_each(|a| each_in_attribute(a, visit));
        }
    }
    // Not used, but it must not hold on to the buffer.
    model.training_info.clear();
}

fn each_in_graph(graph: &mut proto::GraphProto, visit: &mut dyn FnMut(&mut proto::TensorProto)) {
    graph.initializer.iter_mut().for_each(&mut *visit);
    graph.sparse_initializer.iter_mut().for_each(|s| each_in_sparse(s, visit));
    for node in &mut graph.node {
        node.attribute.iter_mut().for_each(|a| each_in_attribute(a, visit));
    }
}

fn each_in_attribute(
    attribute: &mut proto::AttributeProto,
    visit: &mut dyn FnMut(&mut proto::TensorProto),
) {
    attribute.t.iter_mut().for_each(|t| visit(t));
    attribute.tensors.iter_mut().for_each(&mut *visit);
    attribute.sparse_tensor.iter_mut().for_each(|s| each_in_sparse(s, visit));
    attribute.sparse_tensors.iter_mut().for_each(|s| each_in_sparse(s, visit));
    attribute.g.iter_mut().for_each(|g| each_in_graph(g, visit));
    attribute.graphs.iter_mut().for_each(|g| each_in_graph(g, visit));
}

fn each_in_sparse(
    sparse: &mut proto::SparseTensorProto,
    visit: &mut dyn FnMut(&mut proto::TensorProto),
) {
    sparse.values.iter_mut().for_each(&mut *visit);
    sparse.indices.iter_mut().for_each(&mut *visit);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_move_down_to_aligned_places_in_their_order() {
        let mut bytes = vec![0u8; 400];
        let mut places = vec![110..210, 13..37, 300..300, 46..94];
        for (i, place) in places.iter().enumerate() {
            bytes[place.clone()].fill(i as u8 + 1);
        }
        let mut buffer = AlignedBuf::copy_of(&bytes).unwrap();
        pack(&mut buffer, &mut places);
        assert_eq!(places, [96..196, 0..24, 300..300, 32..80], "each as aligned as there is room");
        for (i, place) in places.iter().enumerate() {
            assert!(buffer[place.clone()].iter().all(|&b| b == i as u8 + 1), "payload {i}");
        }
    }

    #[test]
    fn without_room_a_payload_stays() {
        let mut buffer = AlignedBuf::copy_of(&[1, 2, 3, 4, 5, 6]).unwrap();
        let mut places = vec![0..3, 4..6];
        pack(&mut buffer, &mut places);
        assert_eq!(places, [0..3, 4..6]);
        assert_eq!(&*buffer, [1, 2, 3, 4, 5, 6]);
    }
}
