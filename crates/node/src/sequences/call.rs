//! What a request says about its sequence: as tensors, in the way of OpenVINO Model Server, or as
//! parameters, in the way of Triton.

use super::sequencer::StepAnswer;
use crate::{Error, ErrorKind, InferRequest, InferResponse, Param, Protocol, TensorInfo};
use stead_sequence::{Order, SequenceId};
use stead_tensor::{DType, Tensor};

/// The names of the special inputs; they never reach the model.
const ID: &str = "sequence_id";
const CONTROL: &str = "sequence_control_input";
const STEP: &str = "sequence_step";

/// The names of parameters beside those of the special inputs.
const START: &str = "sequence_start";
const END: &str = "sequence_end";

/// The special inputs of a stateful model, for adapters that must know the type before they can read a value.
pub(crate) fn special_inputs() -> Vec<TensorInfo> {
    let info = |name: &str, dtype| TensorInfo {
        name: name.to_owned(),
        dtype,
        shape: vec![1],
        optional: true,
    };
    vec![info(ID, DType::U64), info(CONTROL, DType::U32), info(STEP, DType::U64)]
}

/// How a request was written, and so its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Form {
    /// The id goes into an output tensor.
    id_tensor: bool,
    /// The number of the step goes into one too.
    step_tensor: bool,
    /// Both go into the parameters of the answer.
    parameters: bool,
}

/// A request's order, and how to answer it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) order: Order,
    pub(crate) form: Form,
}

/// Takes the special inputs and the parameters of a sequence out of a request, in the order of checks of
/// OpenVINO Model Server.
///
/// # Errors
/// [`ErrorKind::SpecialInput`], and `INVALID_ARGUMENT` for the two forms contradicting each other.
pub(crate) fn read(request: &mut InferRequest) -> Result<Call, Error> {
    let id = take(request, ID)?.map(|t| id_of(&t)).transpose()?;
    let control = take(request, CONTROL)?;
    let control = control.map(|t| number(&t).ok_or_else(|| bad_type(CONTROL))).transpose()?;
    let step_tensor = take(request, STEP)?;
    let step = step_tensor.as_ref().map(|t| number(t).ok_or_else(|| bad_type(STEP))).transpose()?;
    if control.is_some_and(|c| c > 2) {
        return Err(special("Unexpected value of sequence control input"));
    }
    let tensors = id.is_some() || control.is_some();
    let mut order = Order {
        id: id.flatten(),
        start: control == Some(1),
        end: control == Some(2),
        step,
        request: request.id.clone(),
    };
    let flag = |name, own: &mut bool, on| match control.is_some() && on != *own {
        true => Err(contradiction(name)),
        false => {
            *own = on;
            Ok(())
        }
    };
    // All parameters are taken: a model has no use for others.
    for (name, value) in std::mem::take(&mut request.parameters) {
        match (&*name, value) {
            (ID, Param::U64(n)) => agree(ID, &mut order.id, SequenceId::from_number(n))?,
            (ID, Param::I64(n)) => {
                agree(ID, &mut order.id, SequenceId::from_number(n.cast_unsigned()))?;
            }
            (ID, Param::Str(text)) => agree(ID, &mut order.id, text_id(&text)?)?,
            (ID, _) => return Err(parameter(ID, "an unsigned integer or a string")),
            (START, Param::Bool(on)) => flag(START, &mut order.start, on)?,
            (END, Param::Bool(on)) => flag(END, &mut order.end, on)?,
            (START | END, _) => return Err(parameter(&name, "a boolean")),
            (STEP, Param::U64(n)) => agree(STEP, &mut order.step, Some(n))?,
            (STEP, Param::I64(n)) if n >= 0 => {
                agree(STEP, &mut order.step, Some(n.unsigned_abs()))?;
            }
            (STEP, _) => return Err(parameter(STEP, "an unsigned integer")),
            _ => {}
        }
    }
    let tfs = matches!(request.protocol, Protocol::TfsHttp | Protocol::TfsGrpc);
    let form =
        Form { id_tensor: tfs || tensors, step_tensor: step_tensor.is_some(), parameters: !tfs };
    Ok(Call { order, form })
}

/// The order of a request for a stateful model, left in place; none when it is wrong, which [`read`] tells.
pub(crate) fn peek(request: &InferRequest) -> Option<Order> {
    let special = |(name, tensor): &(String, Tensor)| {
        [ID, CONTROL, STEP].contains(&&**name).then(|| (name.clone(), tensor.clone()))
    };
    let mut copy = InferRequest {
        model: String::new(),
        version: crate::VersionRef::Latest,
        id: request.id.clone(),
        inputs: request.inputs.iter().filter_map(special).collect(),
        outputs: Vec::new(),
        parameters: request.parameters.clone(),
        deadline: None,
        protocol: request.protocol,
    };
    read(&mut copy).ok().map(|call| call.order)
}

/// Completes an answer with those of a step: the outputs, and the sequence and the step in the form of the request.
///
/// # Errors
/// `RESOURCE_EXHAUSTED` when memory is short.
pub(crate) fn answer(
    mut response: InferResponse,
    step: StepAnswer,
) -> Result<InferResponse, Error> {
    let StepAnswer { id, step, outputs, form } = step;
    response.outputs = outputs;
    let lost =
        |e: stead_tensor::TensorError| Error::new(crate::Code::ResourceExhausted, e.to_string());
    if form.id_tensor {
        let tensor = match &id {
            SequenceId::Number(n) => Tensor::from_slice(&[*n], &[1]),
            SequenceId::Text(text) => Tensor::from_strings(vec![text.as_bytes().to_vec()], &[1]),
        };
        response.outputs.push((ID.to_owned(), tensor.map_err(lost)?));
    }
    if form.step_tensor {
        let tensor = Tensor::from_slice(&[step], &[1]).map_err(lost)?;
        response.outputs.push((STEP.to_owned(), tensor));
    }
    if form.parameters {
        let id = match id {
            SequenceId::Number(n) => Param::U64(n),
            SequenceId::Text(text) => Param::Str(text.to_string()),
        };
        let both = [(ID.into(), id), (STEP.into(), Param::U64(step))];
        both.into_iter().for_each(|(name, value)| drop(response.parameters.insert(name, value)));
    }
    Ok(response)
}

/// Takes a special input out of a request and checks its shape.
fn take(request: &mut InferRequest, name: &str) -> Result<Option<Tensor>, Error> {
    let Some(place) = request.inputs.iter().position(|(n, _)| n == name) else { return Ok(None) };
    let (_, tensor) = request.inputs.swap_remove(place);
    if request.inputs.iter().any(|(n, _)| n == name) {
        return Err(ErrorKind::DuplicateInput { input: name.to_owned() }.into());
    }
    let required = || format!("Required shape for {name} is: (1)");
    match tensor.shape().dims() {
        [1] => Ok(Some(tensor)),
        [] => Err(special("Special input proto does not contain tensor shape information")),
        [_] => Err(special(&format!("Invalid input shape - {}", required()))),
        _ => Err(special(&format!("Invalid number of shape dimensions - {}", required()))),
    }
}

/// The one unsigned integer that a tensor holds, whatever integer type it has.
fn number(tensor: &Tensor) -> Option<u64> {
    let view = tensor.view();
    macro_rules! one {
        ($t:ty) => {
            u64::try_from(*view.as_slice::<$t>().ok()?.first()?).ok()
        };
    }
    match tensor.dtype() {
        DType::U64 => one!(u64),
        DType::U32 => one!(u32),
        DType::U16 => one!(u16),
        DType::U8 => one!(u8),
        DType::I64 => one!(i64),
        DType::I32 => one!(i32),
        DType::I16 => one!(i16),
        DType::I8 => one!(i8),
        _ => None,
    }
}

fn id_of(tensor: &Tensor) -> Result<Option<SequenceId>, Error> {
    if let Some(text) = tensor.view().strings().first().filter(|_| tensor.dtype() == DType::String)
    {
        let text = std::str::from_utf8(text).map_err(|_| bad_type(ID))?;
        return text_id(text);
    }
    number(tensor).map(SequenceId::from_number).ok_or_else(|| bad_type(ID))
}

fn text_id(text: &str) -> Result<Option<SequenceId>, Error> {
    SequenceId::from_text(text).map_err(|e| special(&e.to_string()))
}

/// Two forms may say the same thing twice, but not two things.
fn agree<T: PartialEq>(name: &str, slot: &mut Option<T>, given: Option<T>) -> Result<(), Error> {
    match (&slot, given) {
        (_, None) => Ok(()),
        (Some(own), Some(given)) if *own != given => Err(contradiction(name)),
        (_, given) => {
            *slot = given;
            Ok(())
        }
    }
}

fn special(text: &str) -> Error {
    ErrorKind::SpecialInput { text: text.to_owned() }.into()
}

/// OpenVINO Model Server's text for a special input in another form than it reads.
fn bad_type(name: &str) -> Error {
    special(match name {
        ID => "Could not find sequence id in expected tensor proto field uint64_val",
        CONTROL => {
            "Could not find sequence control input in expected tensor proto field uint32_val"
        }
        _ => "sequence_step must be one unsigned integer",
    })
}

fn contradiction(name: &str) -> Error {
    special(&format!("the special inputs and the parameter {name} say different things"))
}

fn parameter(name: &str, expected: &str) -> Error {
    special(&format!("parameter {name} must be {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fake::request;

    fn u64s(values: &[u64], dims: &[usize]) -> Tensor {
        Tensor::from_slice(values, dims).unwrap()
    }

    fn with(inputs: Vec<(&str, Tensor)>, parameters: Vec<(&str, Param)>) -> Result<Order, String> {
        let mut whole = request("m", &[1.0]);
        whole.inputs.extend(inputs.into_iter().map(|(n, t)| (n.to_owned(), t)));
        whole.parameters = parameters.into_iter().map(|(n, p)| (n.to_owned().into(), p)).collect();
        let order = read(&mut whole).map(|call| call.order).map_err(|e| e.to_string());
        assert!(order.is_err() || whole.inputs.len() == 1, "special inputs are taken out");
        order
    }

    /// The names are those of OpenVINO Model Server's tests, where it has the case.
    #[test]
    fn special_inputs_that_are_wrong() {
        let id = "Could not find sequence id in expected tensor proto field uint64_val";
        let control =
            "Could not find sequence control input in expected tensor proto field uint32_val";
        let f32s = Tensor::from_slice(&[1.0f32], &[1]).unwrap();
        let cases = [
            (
                "extractSequenceId_NoTensorShape",
                ID,
                u64s(&[1], &[]),
                "Special input proto does not contain tensor shape information",
            ),
            (
                "extractSequenceId_WrongTensorShapeDims",
                ID,
                u64s(&[1], &[1, 1]),
                "Invalid number of shape dimensions - Required shape for sequence_id is: (1)",
            ),
            (
                "extractSequenceId_WrongTensorShape",
                ID,
                u64s(&[1, 2], &[2]),
                "Invalid input shape - Required shape for sequence_id is: (1)",
            ),
            ("extractSequenceId_WrongValField", ID, f32s.clone(), id),
            ("negative id", ID, Tensor::from_slice(&[-1i64], &[1]).unwrap(), id),
            (
                "empty list",
                ID,
                u64s(&[], &[0]),
                "Invalid input shape - Required shape for sequence_id is: (1)",
            ),
            (
                "extractSequenceControlInput_NoTensorShape",
                CONTROL,
                u64s(&[1], &[]),
                "Special input proto does not contain tensor shape information",
            ),
            (
                "extractSequenceControlInput_WrongTensorShapeDims",
                CONTROL,
                u64s(&[1], &[1, 1]),
                "Invalid number of shape dimensions - Required shape for sequence_control_input is: (1)",
            ),
            (
                "extractSequenceControlInput_WrongTensorShape",
                CONTROL,
                u64s(&[1, 1], &[2]),
                "Invalid input shape - Required shape for sequence_control_input is: (1)",
            ),
            ("extractSequenceControlInput_WrongValField", CONTROL, f32s, control),
            (
                "badControlInput",
                CONTROL,
                u64s(&[999], &[1]),
                "Unexpected value of sequence control input",
            ),
            ("both flags", CONTROL, u64s(&[3], &[1]), "Unexpected value of sequence control input"),
        ];
        for (label, name, tensor, expected) in cases {
            assert_eq!(with(vec![(name, tensor)], vec![]), Err(expected.to_owned()), "{label}");
        }
    }

    #[test]
    fn both_forms() {
        let number = |n| SequenceId::from_number(n);
        let start = Order { id: number(5), start: true, ..Order::default() };
        let tensors = || vec![(ID, u64s(&[5], &[1])), (CONTROL, u64s(&[1], &[1]))];
        let flags = |on| vec![(ID, Param::U64(5)), ("sequence_start", Param::Bool(on))];
        assert_eq!(
            with(tensors(), vec![]),
            Ok(start.clone()),
            "extractSequenceId_OK, extractSequenceControlInput_OK"
        );
        assert_eq!(with(vec![], flags(true)), Ok(start.clone()));
        assert_eq!(with(tensors(), flags(true)), Ok(start));
        assert!(with(tensors(), flags(false)).is_err());
        assert!(with(tensors(), vec![(ID, Param::U64(6))]).is_err());
        let i64s = Tensor::from_slice(&[7i64], &[1]).unwrap();
        let order = Order { id: number(7), ..Order::default() };
        assert_eq!(with(vec![(ID, i64s)], vec![]), Ok(order), "every integer type that fits");
        assert_eq!(with(vec![(ID, u64s(&[0], &[1]))], vec![]), Ok(Order::default()));
        let text = SequenceId::from_text("call-7").unwrap();
        let order = Order { id: text, step: Some(3), ..Order::default() };
        let parameters = vec![(ID, Param::Str("call-7".into())), (STEP, Param::U64(3))];
        assert_eq!(with(vec![], parameters), Ok(order));
        assert!(with(vec![], vec![(ID, Param::Str("x".repeat(1 << 20)))]).is_err());
        assert!(with(vec![], vec![(ID, Param::Bool(true))]).is_err());
    }
}
