//! In which order the answers of a stream are given.

use crate::proto::kserve as pb;
use pb::infer_parameter::ParameterChoice;
use std::collections::{HashMap, VecDeque};

/// The input that names a sequence in the way of OpenVINO Model Server, and the parameter of Triton's clients.
const ID: &str = "sequence_id";

/// What the answer to a request must not overtake: earlier answers of the same lane.
///
/// Each sequence is a lane, so that a slow one does not hold up the others. All requests that name none share one:
/// Triton gives the answers of a stream in the order of its requests (unless a model is decoupled), and clients of
/// stateless models may count on it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Lane {
    /// Requests that name no sequence.
    Stream,
    /// The sequence of a model with a number as its id.
    Number(String, u64),
    /// The sequence of a model with a text as its id.
    Text(String, Vec<u8>),
}

/// The lane of a request for a stateful model. What is wrong with an id is told by those who parse the request; it only must not end up
/// in the lane of a sequence by chance.
pub fn lane(request: &pb::ModelInferRequest) -> Lane {
    let model = || request.model_name.clone();
    let named = match request.parameters.get(ID).and_then(|p| p.parameter_choice.as_ref()) {
        Some(&ParameterChoice::Int64Param(v)) => Some(Lane::Number(model(), v.cast_unsigned())),
        Some(&ParameterChoice::Uint64Param(v)) => Some(Lane::Number(model(), v)),
        Some(ParameterChoice::StringParam(text)) if !text.is_empty() => {
            Some(Lane::Text(model(), text.as_bytes().to_vec()))
        }
        _ => None,
    };
    let given = |lane: &Lane| !matches!(lane, Lane::Number(_, 0));
    named.filter(given).or_else(|| tensor(request).filter(given)).unwrap_or(Lane::Stream)
}

/// The sequence that a special input names.
fn tensor(request: &pb::ModelInferRequest) -> Option<Lane> {
    let model = || request.model_name.clone();
    let place = request.inputs.iter().position(|i| i.name == ID)?;
    let input = request.inputs.get(place)?;
    let text = input.datatype == "BYTES";
    if let Some(raw) = request.raw_input_contents.get(place) {
        if text {
            // Each string follows its length.
            return Some(Lane::Text(model(), raw.get(4..)?.to_vec()));
        }
        let mut bytes = [0; 8];
        bytes.get_mut(..raw.len())?.copy_from_slice(raw);
        return Some(Lane::Number(model(), u64::from_le_bytes(bytes)));
    }
    let c = input.contents.as_ref()?;
    let signed = c.int64_contents.first().copied();
    let signed = signed.or_else(|| c.int_contents.first().map(|&v| i64::from(v)));
    let number = c.uint64_contents.first().copied();
    let number = number.or_else(|| c.uint_contents.first().map(|&v| u64::from(v)));
    match number.or(signed.map(i64::cast_unsigned)) {
        Some(number) => Some(Lane::Number(model(), number)),
        None => Some(Lane::Text(model(), c.bytes_contents.first()?.to_vec())),
    }
}

/// The place of an answer among those of its lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    lane: Lane,
    number: u64,
}

/// The answers of a lane: those that are there, and gaps for those that are not.
#[derive(Debug)]
struct Queue<T> {
    /// The number of the first place.
    first: u64,
    places: VecDeque<Option<T>>,
}

/// Answers that wait for earlier ones of their lanes.
#[derive(Debug)]
pub struct Order<T> {
    lanes: HashMap<Lane, Queue<T>>,
}

impl<T> Order<T> {
    /// No answers.
    pub fn new() -> Order<T> {
        Order { lanes: HashMap::new() }
    }

    /// The next place of a lane.
    pub fn enter(&mut self, lane: Lane) -> Place {
        let new = || Queue { first: 0, places: VecDeque::with_capacity(1) };
        let queue = self.lanes.entry(lane.clone()).or_insert_with(new);
        queue.places.push_back(None);
        Place { lane, number: queue.first + (queue.places.len() as u64 - 1) }
    }

    /// An answer is there; `out` gets all those that need not wait any longer.
    pub fn fill(&mut self, place: Place, answer: T, out: &mut VecDeque<T>) {
        let Place { lane, number } = place;
        let Some(queue) = self.lanes.get_mut(&lane) else { return };
        let index = number.checked_sub(queue.first).and_then(|i| usize::try_from(i).ok());
        if let Some(slot) = index.and_then(|i| queue.places.get_mut(i)) {
            *slot = Some(answer);
        }
        while let Some(front) = queue.places.front_mut().and_then(Option::take) {
            queue.places.pop_front();
            queue.first += 1;
            out.push_back(front);
        }
        if queue.places.is_empty() {
            self.lanes.remove(&lane);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use pb::model_infer_request::InferInputTensor;

    fn request(
        parameter: Option<ParameterChoice>,
        input: Option<(&str, Option<&'static [u8]>, pb::InferTensorContents)>,
    ) -> pb::ModelInferRequest {
        let mut request = pb::ModelInferRequest { model_name: "m".into(), ..Default::default() };
        if let Some(choice) = parameter {
            let value = pb::InferParameter { parameter_choice: Some(choice) };
            request.parameters.insert(ID.into(), value);
        }
        if let Some((datatype, raw, contents)) = input {
            request.inputs.push(InferInputTensor {
                name: ID.into(),
                datatype: datatype.into(),
                contents: raw.is_none().then_some(contents),
                ..Default::default()
            });
            request.raw_input_contents.extend(raw.map(Bytes::from_static));
        }
        request
    }

    #[test]
    fn one_sequence_is_one_lane_in_whatever_form_it_is_named() {
        use ParameterChoice::{Int64Param, StringParam, Uint64Param};
        let none = pb::InferTensorContents::default;
        let five = Lane::Number("m".into(), 5);
        let text = Lane::Text("m".into(), b"abc".to_vec());
        let u64s = pb::InferTensorContents { uint64_contents: vec![5], ..none() };
        let i32s = pb::InferTensorContents { int_contents: vec![5], ..none() };
        let strings = pb::InferTensorContents { bytes_contents: vec![b"abc"[..].into()], ..none() };
        let minus = Lane::Number("m".into(), u64::MAX);
        let cases = [
            ("nothing", request(None, None), Lane::Stream),
            ("0", request(Some(Int64Param(0)), None), Lane::Stream),
            ("no text", request(Some(StringParam(String::new())), None), Lane::Stream),
            ("int64", request(Some(Int64Param(5)), None), five.clone()),
            ("negative", request(Some(Int64Param(-1)), None), minus),
            ("uint64", request(Some(Uint64Param(5)), None), five.clone()),
            ("text", request(Some(StringParam("abc".into())), None), text.clone()),
            ("u64 contents", request(None, Some(("UINT64", None, u64s))), five.clone()),
            ("i32 contents", request(None, Some(("INT32", None, i32s))), five.clone()),
            ("string contents", request(None, Some(("BYTES", None, strings))), text.clone()),
            (
                "raw u64",
                request(None, Some(("UINT64", Some(&[5, 0, 0, 0, 0, 0, 0, 0]), none()))),
                five.clone(),
            ),
            ("raw u8", request(None, Some(("UINT8", Some(&[5]), none()))), five),
            ("raw text", request(None, Some(("BYTES", Some(b"\x03\0\0\0abc"), none()))), text),
            ("raw too long", request(None, Some(("UINT64", Some(&[0; 99]), none()))), Lane::Stream),
            ("no value", request(None, Some(("UINT64", None, none()))), Lane::Stream),
        ];
        for (label, request, expected) in cases {
            assert_eq!(lane(&request), expected, "{label}");
        }
    }

    #[test]
    fn lanes_do_not_wait_for_each_other() {
        let mut order = Order::new();
        let mut out = VecDeque::new();
        let five = || Lane::Number("m".into(), 5);
        let (a, b, c) = (order.enter(five()), order.enter(Lane::Stream), order.enter(five()));
        order.fill(c, "c", &mut out);
        assert!(out.is_empty(), "c waits for a");
        order.fill(b, "b", &mut out);
        assert_eq!(out, ["b"]);
        let d = order.enter(five());
        order.fill(a, "a", &mut out);
        order.fill(d, "d", &mut out);
        assert_eq!(out, ["b", "a", "c", "d"]);
        assert!(order.lanes.is_empty(), "lanes without answers to come take no memory");
    }
}
