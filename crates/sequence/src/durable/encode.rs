//! From records to bytes.

use super::{Answer, Event, Record, VERSION};
use crate::SequenceId;
use stead_tensor::Tensor;

/// The bytes of a record that says nothing: what waits for it knows that all records before it are durable.
pub const NOTHING: [u8; 2] = [VERSION, 0];

/// What the parts of a record take at most beside texts, tensors and lists.
const FIXED: usize = 128;

/// The bytes of a record.
pub fn encode(record: &Record) -> Vec<u8> {
    let mut out = Vec::with_capacity(FIXED + record.model.len() + weight(&record.event));
    out.extend([VERSION, kind(&record.event)]);
    text(&mut out, &record.model);
    number(&mut out, record.version);
    number(&mut out, record.fingerprint);
    match &record.id {
        SequenceId::Number(n) => {
            out.push(0);
            number(&mut out, *n);
        }
        SequenceId::Text(t) => {
            out.push(1);
            text(&mut out, t);
        }
    }
    number(&mut out, record.at);
    match &record.event {
        Event::Alive(alive) => {
            number(&mut out, alive.step);
            number(&mut out, alive.began);
            text(&mut out, &alive.request);
            out.push(u8::from(alive.auto) | u8::from(alive.fresh) << 1);
            out.extend(alive.keep.to_le_bytes());
            count(&mut out, alive.answers.len());
            for (step, outputs) in &alive.answers {
                number(&mut out, *step);
                answer(&mut out, outputs);
            }
            values(&mut out, &alive.state);
        }
        Event::Ended(ending) => {
            out.push(u8::from(ending.is_some()));
            if let Some(ending) = ending {
                number(&mut out, ending.step);
                text(&mut out, &ending.request);
                text(&mut out, &ending.start);
                answer(&mut out, &ending.answer);
            }
        }
        Event::Gone => {}
    }
    out
}

/// The bytes of a state alone, as in a record.
pub fn encode_state(state: &[Option<Tensor>]) -> Vec<u8> {
    let mut out =
        Vec::with_capacity(FIXED + state.iter().flatten().map(tensor_weight).sum::<usize>());
    values(&mut out, state);
    out
}

fn values(out: &mut Vec<u8>, state: &[Option<Tensor>]) {
    count(out, state.len());
    for value in state {
        out.push(u8::from(value.is_some()));
        value.iter().for_each(|value| tensor(out, value));
    }
}

fn tensor_weight(tensor: &Tensor) -> usize {
    tensor.bytes().len() + 80
}

/// The number that stands for a list of states: FNV-1a over the lines, each followed by a line feed. A line names a
/// state, its type and its dimensions.
pub fn fingerprint<T: AsRef<str>>(lines: impl IntoIterator<Item = T>) -> u64 {
    // http://www.isthe.com/chongo/tech/comp/fnv/
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for line in lines {
        for byte in line.as_ref().bytes().chain([b'\n']) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    hash
}

fn kind(event: &Event) -> u8 {
    match event {
        Event::Alive(_) => 1,
        Event::Ended(_) => 2,
        Event::Gone => 3,
    }
}

/// About the bytes that an event takes, so that the buffer seldom grows.
fn weight(event: &Event) -> usize {
    let of = tensor_weight;
    let outputs = |a: &Answer| a.iter().map(|(n, t)| n.len() + of(t)).sum::<usize>() + 16;
    match event {
        Event::Alive(alive) => {
            let state: usize = alive.state.iter().flatten().map(of).sum();
            let answers: usize = alive.answers.iter().map(|(_, a)| outputs(a)).sum();
            alive.request.len() + state + answers
        }
        Event::Ended(Some(e)) => e.request.len() + e.start.len() + outputs(&e.answer),
        Event::Ended(None) | Event::Gone => 0,
    }
}

fn answer(out: &mut Vec<u8>, outputs: &[(String, Tensor)]) {
    count(out, outputs.len());
    for (name, value) in outputs {
        text(out, name);
        tensor(out, value);
    }
}

fn tensor(out: &mut Vec<u8>, value: &Tensor) {
    // ONNX's numbers end at 26, ranks at 8.
    out.push(u8::try_from(value.dtype().onnx_number()).unwrap_or_default());
    let shape = value.shape();
    out.push(u8::try_from(shape.dims().len()).unwrap_or_default());
    for dim in shape.dims() {
        number(out, *dim as u64);
    }
    out.extend_from_slice(value.bytes());
    for string in value.view().strings() {
        count(out, string.len());
        out.extend_from_slice(string);
    }
}

fn text(out: &mut Vec<u8>, text: &str) {
    count(out, text.len());
    out.extend_from_slice(text.as_bytes());
}

fn number(out: &mut Vec<u8>, number: u64) {
    out.extend(number.to_le_bytes());
}

/// A length. A record of 4 GiB is no record: the log refuses it long before.
fn count(out: &mut Vec<u8>, count: usize) {
    out.extend(u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}
