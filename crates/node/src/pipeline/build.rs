//! Fitting a pipeline to the models that are served: names, types and shapes of everything that is connected.

use super::{Flow, Pipeline, Stage};
use crate::instance::{Instance, Machine};
use crate::recorder::Recorder;
use crate::sequences::{self, Joint, Work};
use crate::servable::Servable;
use crate::signature::{Allowed, Input, Output, Signature, datatype, tuple};
use std::sync::Arc;
use std::time::Duration;
use stead_app::{Demultiply, Origin, PipelineNode, PipelineSettings, SequenceSettings, Wire};
use stead_engine::Dim;
use stead_tensor::DType;

/// Requests that may wait for their turn in sequences of a pipeline; as many as for a model.
const QUEUE: usize = 1024;

/// Dimensions that a value may have; none when not even their number is known.
type Dims = Option<Vec<Allowed>>;

/// A place below the pipeline, and what is wrong there.
type Wrong = (String, String);

/// A pipeline over these models, one for each node, with the settings of their sequences.
///
/// # Errors
/// In words, with the place in the configuration that begins with `base`.
pub(crate) fn build(
    name: &str,
    base: &str,
    settings: &PipelineSettings,
    models: &[(Arc<Servable>, SequenceSettings)],
    recorder: Arc<Recorder>,
    machine: &Machine,
) -> Result<Pipeline, String> {
    let told = |(pointer, text): Wrong| format!("{base}{pointer}: {text}");
    let mut stages: Vec<Stage> = Vec::with_capacity(settings.nodes.len());
    let mut stateful: Vec<(String, Arc<Servable>)> = Vec::new();
    for (node, (servable, own)) in settings.nodes.iter().zip(models) {
        let mut stage = stage(node, servable).map_err(told)?;
        if servable.is_stateful() {
            may_be_stateful(node, own).map_err(told)?;
            stage.state = Some(stateful.len());
            stateful.push((node.name.clone(), Arc::clone(servable)));
        }
        stages.push(stage);
    }
    let (used, signature) = Fit { settings, stages: &stages }.signature().map_err(told)?;
    let own: Vec<&SequenceSettings> =
        models.iter().filter(|(m, _)| m.is_stateful()).map(|(_, own)| own).collect();
    let sequences = (!stateful.is_empty()).then(|| {
        let (states, own) = (Joint::new(stateful), joint(&own));
        let durable = sequences::durable_joint(name, &states, &own, machine);
        let work = Work::Pipeline(states);
        sequences::begin((name, Pipeline::VERSION), work, QUEUE, &own, durable, &recorder, machine)
    });
    recorder.loaded();
    Ok(Pipeline {
        name: name.to_owned(),
        settings: settings.clone(),
        flow: Flow {
            stages,
            inputs: used,
            demultiply: settings.demultiply,
            outputs: settings.outputs.iter().map(|w| w.from).collect(),
        },
        signature,
        sequences,
        recorder,
        budget: Arc::clone(&machine.budget),
        cleaner: Arc::clone(&machine.cleaner),
    })
}

/// What holds for the sequences of a pipeline: the narrowest limits of its models, the strongest promise, and for the
/// rest what the first model says that says anything.
pub(super) fn joint(models: &[&SequenceSettings]) -> SequenceSettings {
    let all = models.iter().fold(SequenceSettings::default(), |all, own| all.over(own));
    let timeouts = models.iter().filter_map(|m| m.idle_timeout.filter(|t| *t > Duration::ZERO));
    SequenceSettings {
        max_sequences: models.iter().filter_map(|m| m.max_sequences).min(),
        idle_timeout: timeouts.min(),
        state_budget: models.iter().filter_map(|m| m.state_budget.filter(|n| *n > 0)).min(),
        durability: models.iter().filter_map(|m| m.durability).max(),
        idle_cleanup: Some(models.iter().any(|m| m.idle_cleanup.unwrap_or(true))),
        triton_compat: Some(models.iter().all(|m| m.triton_compat == Some(true))),
        ..all
    }
}

fn may_be_stateful(node: &PipelineNode, settings: &SequenceSettings) -> Result<(), Wrong> {
    let wrong = |text: String| Err((node.pointer.clone(), text));
    if settings.ovms_compat == Some(true) {
        return wrong(format!(
            "Stateful model cannot be subscribed to pipeline - node {:?}: model {:?} has ovms_compat",
            node.name, node.model
        ));
    }
    if !node.level.is_empty() {
        return wrong(format!(
            "node {:?} runs in the branches of a demultiplexer, which the stateful model {:?} cannot: \
             a sequence has one step at a time",
            node.name, node.model
        ));
    }
    Ok(())
}

fn join<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// Finds the inputs and outputs of a node's model.
fn stage(node: &PipelineNode, servable: &Arc<Servable>) -> Result<Stage, Wrong> {
    let lost = || (node.pointer.clone(), format!("{:?} is no model", node.model));
    let signature = servable.model().map(Instance::signature).ok_or_else(lost)?;
    let (name, model) = (&node.name, &node.model);
    let mut wires = Vec::with_capacity(node.inputs.len());
    for wire in &node.inputs {
        let is = |i: &Input| i.name == wire.name && !i.hidden;
        let place = signature.inputs.iter().position(is).ok_or_else(|| {
            let known = join(signature.inputs.iter().filter(|i| !i.hidden).map(|i| &*i.name));
            let text = "Pipeline definition has connection to non existing model input";
            let text =
                format!("{text} - model {model:?} has no input {:?}; it has: {known}", wire.name);
            (wire.pointer.clone(), text)
        })?;
        wires.push((place, wire.from));
    }
    let needed = |i: &Input| !i.hidden && !i.optional && !i.first && i.default.is_none();
    let is_open = |(place, input): &(usize, &Input)| {
        needed(input) && wires.iter().all(|(wired, _)| wired != place)
    };
    let open = join(signature.inputs.iter().enumerate().filter(is_open).map(|(_, i)| &*i.name));
    if !open.is_empty() {
        let text =
            "Pipeline definition does not have connections for all inputs of underlying models";
        let text = format!("{text} - node {name:?}, model {model:?}: {open}");
        return Err((format!("{}/inputs", node.pointer), text));
    }
    let mut outputs = Vec::with_capacity(node.outputs.len());
    for (i, item) in node.outputs.iter().enumerate() {
        let is = |o: &Output| o.name == *item && !o.hidden;
        let place = signature.outputs.iter().position(is).ok_or_else(|| {
            let known = join(signature.outputs.iter().filter(|o| !o.hidden).map(|o| &*o.name));
            let text = "Pipeline definition has reference to missing model output";
            let text = format!("{text} - model {model:?} has no output {item:?}; it has: {known}");
            (format!("{}/outputs/{i}/data_item", node.pointer), text)
        })?;
        outputs.push(place);
    }
    Ok(Stage {
        name: name.clone(),
        model: Arc::clone(servable),
        wires,
        outputs,
        demultiply: node.demultiply,
        gathers: node.gathers,
        level: node.level.clone(),
        state: None,
    })
}

/// A value of the pipeline: its type and shape.
type Kind = (DType, Dims);

fn count(count: Demultiply) -> Allowed {
    match count {
        Demultiply::Fixed(n) => Allowed::Range(n, n),
        Demultiply::Dynamic => Allowed::Any,
    }
}

fn sizes(dims: Option<&Vec<Dim>>) -> Dims {
    let size = |d: &Dim| d.known().map_or(Allowed::Any, |n| Allowed::Range(n, n));
    dims.map(|dims| dims.iter().map(size).collect())
}

fn text(dims: &Dims) -> String {
    dims.as_ref().map_or_else(|| "?".to_owned(), |d| tuple(d.iter().map(Allowed::text)))
}

/// What both allow; nothing when they contradict each other.
fn both(a: &Dims, b: &Dims) -> Option<Dims> {
    match (a, b) {
        (None, dims) | (dims, None) => Some(dims.clone()),
        (Some(a), Some(b)) if a.len() == b.len() => {
            a.iter().zip(b).map(|(a, b)| a.and(b)).collect::<Option<Vec<_>>>().map(Some)
        }
        _ => None,
    }
}

/// The settings, and stages that are connected by place.
struct Fit<'a> {
    settings: &'a PipelineSettings,
    stages: &'a [Stage],
}

impl Fit<'_> {
    fn input(&self, node: usize, wire: usize) -> Option<&Input> {
        let stage = self.stages.get(node)?;
        let (place, _) = stage.wires.get(wire)?;
        stage.model.model()?.signature().inputs.get(*place)
    }

    /// An output of a node's model, in one branch and not split.
    fn output(&self, node: usize, output: usize) -> Option<Kind> {
        let stage = self.stages.get(node)?;
        let output = stage.model.model()?.signature().outputs.get(*stage.outputs.get(output)?)?;
        Some((output.dtype, sizes(output.dims.as_ref())))
    }

    /// Checks all connections. Gives the places of the pipeline's inputs in its signature, and that.
    fn signature(&self) -> Result<(Vec<Option<usize>>, Signature), Wrong> {
        for (n, node) in self.settings.nodes.iter().enumerate() {
            if let Some(splits) = node.demultiply {
                self.splits(n, node, splits)?;
            }
        }
        let mut given: Vec<Option<Input>> = self.settings.inputs.iter().map(|_| None).collect();
        for (n, node) in self.settings.nodes.iter().enumerate() {
            for (w, wire) in node.inputs.iter().enumerate() {
                let Some(input) = self.input(n, w) else { continue };
                let (dtype, dims) = (input.dtype, self.unsplit(node, wire, input)?);
                match wire.from {
                    Origin::Node { node: from, output } => {
                        let Some(kind) = self.output(from, output) else { continue };
                        self.fits(wire, kind, (dtype, dims))?;
                    }
                    Origin::Request(place) => {
                        let optional = input.optional || input.first || input.default.is_some();
                        let Some(slot) = given.get_mut(place) else { continue };
                        let name = &self.settings.inputs[place];
                        *slot = Some(required(name, slot.take(), wire, (dtype, dims), optional)?);
                    }
                }
            }
        }
        let mut outputs = Vec::with_capacity(self.settings.outputs.len());
        for wire in &self.settings.outputs {
            let (dtype, dims) = match wire.from {
                Origin::Request(place) => {
                    let input = given.get(place).and_then(Option::as_ref).ok_or_else(|| {
                        let text = "no node tells the type of an input that goes to the response";
                        (wire.pointer.clone(), text.to_owned())
                    })?;
                    (input.dtype, input.dims.clone())
                }
                Origin::Node { node, output } => {
                    let lost = || (wire.pointer.clone(), "no such output".to_owned());
                    let (dtype, dims) = self.output(node, output).ok_or_else(lost)?;
                    (dtype, self.gathered(wire.from, dims))
                }
            };
            let size = |a: &Allowed| match a {
                Allowed::Range(low, high) if low == high => Dim::Known(*low),
                _ => Dim::Unknown,
            };
            let dims = dims.map(|dims| dims.iter().map(size).collect());
            outputs.push(Output { name: wire.name.clone(), dtype, dims, hidden: false });
        }
        let mut next = 0..;
        let places = given.iter().map(|i| i.as_ref().and_then(|_| next.next())).collect();
        Ok((places, Signature::of(given.into_iter().flatten().collect(), outputs)))
    }

    /// Whether the outputs of a demultiplexer can be split.
    fn splits(&self, n: usize, node: &PipelineNode, splits: Demultiply) -> Result<(), Wrong> {
        for (i, item) in node.outputs.iter().enumerate() {
            let Some((dtype, dims)) = self.output(n, i) else { continue };
            let wrong = |text: String| Err((format!("{}/outputs/{i}", node.pointer), text));
            let first = dims.as_ref().map(|d| d.first());
            if first == Some(None) || dtype.size() == 0 {
                return wrong(format!(
                    "Wrong number of dimensions to demultiply - output {item:?} of model {:?} has {}{}",
                    node.model,
                    datatype(dtype),
                    text(&dims)
                ));
            }
            if first.flatten().is_some_and(|d| d.and(&count(splits)).is_none()) {
                return wrong(format!(
                    "Demultiply count does not match tensor first dimension - demultiply_count: {}; \
                     output {item:?} of model {:?} has {}",
                    count(splits).text(),
                    node.model,
                    text(&dims)
                ));
            }
        }
        Ok(())
    }

    /// The shape that a value must have at its source, before it is split, to suit an input.
    fn unsplit(&self, node: &PipelineNode, wire: &Wire, input: &Input) -> Result<Dims, Wrong> {
        let Some(mut dims) = input.dims.clone() else { return Ok(None) };
        let level = self.settings.level(wire.from);
        if node.gathers {
            let gathered = level.last().and_then(|node| self.settings.demultiply(*node));
            let suits = match (dims.first(), gathered) {
                (Some(first), Some(splits)) => first.and(&count(splits)).is_some(),
                _ => false,
            };
            if !suits {
                let from = level.last().map_or("", |node| self.settings.node_name(*node));
                let text = format!(
                    "Demultiply count does not match tensor first dimension - what is gathered from {from:?} \
                     has {} in front; input {:?} of model {:?} has {}",
                    gathered.map_or_else(String::new, |c| count(c).text()),
                    wire.name,
                    node.model,
                    text(&Some(dims))
                );
                return Err((wire.pointer.clone(), text));
            }
            dims.remove(0);
        }
        if let Some(splits) = self.settings.demultiply(wire.from.node()) {
            dims.insert(0, count(splits));
        }
        Ok(Some(dims))
    }

    /// Whether an output suits what an input needs of it.
    fn fits(&self, wire: &Wire, output: Kind, needed: Kind) -> Result<(), Wrong> {
        let wrong = |what: &str, actual: String, expected: String| {
            let from = self.settings.node_name(wire.from.node());
            let text = format!(
                "{what} of input {:?} and of what node {from:?} gives differ - expected: {expected}; \
                 actual: {actual}",
                wire.name
            );
            Err((wire.pointer.clone(), text))
        };
        if output.0 != needed.0 {
            return wrong("precision", datatype(output.0).into(), datatype(needed.0).into());
        }
        match both(&output.1, &needed.1) {
            Some(_) => Ok(()),
            None => wrong("shape", text(&output.1), text(&needed.1)),
        }
    }

    /// The shape of an output with the branches that it is gathered from in front.
    fn gathered(&self, from: Origin, dims: Dims) -> Dims {
        let mut dims = dims?;
        let level = self.settings.level(from);
        if self.settings.demultiply(from.node()).is_some() && !dims.is_empty() {
            // It is split and put together again.
            dims.remove(0);
        }
        let counts = level.iter().filter_map(|node| self.settings.demultiply(*node)).map(count);
        Some(counts.chain(dims).collect())
    }
}

/// An input of the pipeline that suits one more input of a model.
fn required(
    name: &str,
    known: Option<Input>,
    wire: &Wire,
    (dtype, dims): Kind,
    optional: bool,
) -> Result<Input, Wrong> {
    let Some(known) = known else {
        return Ok(Input {
            name: name.to_owned(),
            dtype,
            dims,
            optional: false,
            default: None,
            hidden: false,
            first: optional,
        });
    };
    let wrong = |a: String, b: String| {
        let what =
            "Multiple nodes connected to the same pipeline input require different tensor metadata";
        (wire.pointer.clone(), format!("{what} - {name:?}: {a} and {b}"))
    };
    if known.dtype != dtype {
        return Err(wrong(datatype(known.dtype).to_owned(), datatype(dtype).to_owned()));
    }
    let dims = both(&known.dims, &dims).ok_or_else(|| wrong(text(&known.dims), text(&dims)))?;
    Ok(Input { dims, first: known.first && optional, ..known })
}
