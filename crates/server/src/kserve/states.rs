//! The states and windows of a model for programs. Triton's configuration has a place for states, but none for what
//! they begin with here, how they are joined and how they grow: that stands in a parameter, in the words of the
//! options `states` and `windows`.

use super::datatype::{config_name, config_number, datatype_name};
use crate::proto::kserve as pb;
use serde::Serialize;
use stead_node::{ModelConfig, StateBegins, StateInfo, WindowInfo};

/// The parameter with all that is known of states and windows, as a text in JSON.
pub const PARAMETER: &str = "stead.states";

/// An entry of Triton's `sequence_batching.state`.
#[derive(Serialize)]
pub struct TritonState<'a> {
    input_name: &'a str,
    output_name: &'a str,
    data_type: &'static str,
    dims: Vec<i64>,
    initial_state: [(); 0],
    use_same_buffer_for_input_output: bool,
    use_growable_memory: bool,
}

/// The dimensions of a state in Triton's way: without the axis of the batch where the model is batched.
fn dims(config: &ModelConfig, state: &StateInfo) -> Vec<i64> {
    let mut dims = state.shape.clone().unwrap_or_default();
    if config.max_batch_size > 0
        && let Some(axis) = state.batch_axis.filter(|axis| *axis < dims.len())
    {
        dims.remove(axis);
    }
    dims
}

/// The states as JSON in Triton's form.
pub fn states_json(config: &ModelConfig) -> Vec<TritonState<'_>> {
    let mut all = Vec::with_capacity(config.states.len());
    for state in &config.states {
        all.push(TritonState {
            input_name: &state.input,
            output_name: &state.output,
            data_type: config_name(state.dtype),
            dims: dims(config, state),
            initial_state: [],
            use_same_buffer_for_input_output: false,
            use_growable_memory: state.growable.is_some(),
        });
    }
    all
}

/// The states as messages in Triton's form.
pub fn states_message(config: &ModelConfig) -> Vec<pb::model_sequence_batching::State> {
    let state = |state: &StateInfo| pb::model_sequence_batching::State {
        input_name: state.input.clone(),
        output_name: state.output.clone(),
        data_type: config_number(state.dtype),
        dims: dims(config, state),
        use_growable_memory: state.growable.is_some(),
        ..pb::model_sequence_batching::State::default()
    };
    config.states.iter().map(state).collect()
}

#[derive(Serialize)]
struct All<'a> {
    states: Vec<State<'a>>,
    windows: Vec<Window<'a>>,
}

#[derive(Serialize)]
struct State<'a> {
    input: &'a str,
    output: &'a str,
    datatype: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<&'a [i64]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    batch_axis: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    growable: Option<Growable>,
    init: &'static str,
}

impl<'a> State<'a> {
    fn of(state: &'a StateInfo) -> State<'a> {
        State {
            input: &state.input,
            output: &state.output,
            datatype: datatype_name(state.dtype),
            shape: state.shape.as_deref(),
            batch_axis: state.batch_axis,
            growable: state.growable.map(|(axis, max)| Growable { axis, max }),
            init: match state.begins {
                StateBegins::Zeros => "zeros",
                StateBegins::Value => "const",
                StateBegins::FirstValue => "first_value",
                StateBegins::Model => "model",
            },
        }
    }
}

#[derive(Serialize)]
struct Growable {
    axis: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<usize>,
}

#[derive(Serialize)]
struct Window<'a> {
    input: &'a str,
    length: usize,
    axis: usize,
}

impl<'a> Window<'a> {
    fn of(window: &'a WindowInfo) -> Window<'a> {
        Window { input: &window.input, length: window.length, axis: window.axis }
    }
}

/// What the parameter holds; none for a model without states and windows.
pub fn parameter(config: &ModelConfig) -> Option<String> {
    if config.states.is_empty() && config.windows.is_empty() {
        return None;
    }
    let all = All {
        states: config.states.iter().map(State::of).collect(),
        windows: config.windows.iter().map(Window::of).collect(),
    };
    serde_json::to_string(&all).ok()
}
