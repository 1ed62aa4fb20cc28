//! A model: a graph after the passes that do not depend on shapes.

use crate::error::LoadError;
use crate::hoist::{self, Hoist, Piece};
use crate::ir::{Form, Ir, ValueId, lower, type_of};
use crate::lift::{self, Lift, Lifted, LiftedState, Unlifted};
use crate::passes::{self, PassChoice, PassReport};
use crate::precision::Own;
use std::path::Path;
use stead_kernels::Isa;
pub use stead_onnx::Dim;
use stead_onnx::{FindFile, Limits, ValueInfo};
use stead_tensor::DType;

/// How a model is loaded.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// What reading the file may cost.
    pub limits: Limits,
    /// The most bytes that constant folding may add to the model.
    pub fold_bytes: usize,
    /// The passes that change the graph: fewer than all show what the others bring, and help to find one that is
    /// wrong.
    pub passes: PassChoice,
    /// Makes inputs and outputs of the states inside the model; see [`Model::lifted`].
    pub lift: Option<Lift>,
    /// Takes models whose inputs or outputs are sequences, optionals or maps, which [`Session::run_values`](crate::Session::run_values)
    /// runs. They are refused otherwise: no protocol carries such values.
    pub lists: bool,
}

impl Default for LoadOptions {
    fn default() -> Self {
        // ONNX's own test models keep weights of up to 400 MB as ConstantOfShape nodes.
        LoadOptions {
            limits: Limits::default(),
            fold_bytes: 1 << 30,
            passes: PassChoice::All,
            lift: None,
            lists: false,
        }
    }
}

/// An input or output of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IoSpec {
    /// The name.
    pub name: String,
    /// The element type.
    pub dtype: DType,
    /// The dimensions, or `None` when the model does not even tell the rank.
    pub dims: Option<Vec<Dim>>,
    /// Whether an input has a default and may be absent.
    pub optional: bool,
}

impl IoSpec {
    /// Whether a tensor of this shape can be given: the rank is right and every fixed dimension too.
    pub fn accepts(&self, shape: &[usize]) -> bool {
        self.dims.as_ref().is_none_or(|dims| {
            dims.len() == shape.len()
                && dims.iter().zip(shape).all(|(d, &n)| d.known().is_none_or(|k| k == n))
        })
    }

    /// The dimensions as text, such as `[batch,3,224,224]`.
    pub fn dims_text(&self) -> String {
        match &self.dims {
            None => "[...]".to_owned(),
            Some(dims) => {
                let texts: Vec<_> = dims.iter().map(ToString::to_string).collect();
                format!("[{}]", texts.join(","))
            }
        }
    }
}

/// A loaded model: immutable, independent of shapes.
#[derive(Debug, Clone)]
pub struct Model {
    pub(crate) ir: Ir,
    pub(crate) inputs: Vec<IoSpec>,
    pub(crate) outputs: Vec<IoSpec>,
    reports: Vec<PassReport>,
    info: ModelInfo,
    lifted: Lifted,
    /// Whether a session lays images out in blocks of channels.
    lays_out: bool,
    /// The precisions that the file has.
    pub(crate) own: Own,
    forms: Forms,
}

/// What inputs and outputs are, up to the last one that is no tensor.
#[derive(Debug, Clone, Default)]
struct Forms {
    inputs: Vec<Form>,
    outputs: Vec<Form>,
}

impl Forms {
    fn up_to_the_last_list(forms: impl Iterator<Item = Form>) -> Vec<Form> {
        let mut forms: Vec<Form> = forms.collect();
        let is_list = |form: &Form| *form != Form::Tensor;
        forms.truncate(forms.iter().rposition(is_list).map_or(0, |last| last + 1));
        forms
    }
}

/// A model in parts.
#[derive(Debug, Clone)]
pub struct Parts {
    /// What depends on the inputs of the query only; nothing if that would be no work. The rest has an input for each of its
    /// outputs, behind those of the model.
    pub query: Option<Model>,
    /// What depends on the [inputs of documents](Hoist::documents) only, with an input of the rest for each output, the last
    /// ones.
    pub documents: Option<Model>,
    /// The rest, with all outputs. Without other parts it is the whole model.
    pub rest: Model,
    /// Layers of which one half belongs to the query, as messages call them.
    pub layers: Vec<String>,
}

/// What a model file says about itself.
#[derive(Debug, Clone, Default)]
pub struct ModelInfo {
    /// The version of the file format.
    pub ir_version: i64,
    /// The program that wrote the file.
    pub producer: String,
    /// The version of that program.
    pub producer_version: String,
    /// Whose the model is.
    pub domain: String,
    /// The version of the model itself.
    pub version: i64,
    /// Free text about the model.
    pub description: String,
    /// The name of the graph.
    pub graph_name: String,
    /// Free text about the graph.
    pub graph_description: String,
    /// Operator sets by domain.
    pub opsets: Vec<(String, i64)>,
    /// Free text by key.
    pub metadata: Vec<(String, String)>,
    /// How often each operator occurs in the file, bodies included, by name.
    pub op_counts: Vec<(String, usize)>,
    /// Number of constant elements in the file, or of those that one of [`Parts`] reads.
    pub parameters: usize,
    /// Bytes of constants in the file.
    pub parameter_bytes: usize,
}

impl ModelInfo {
    /// Name and version of the program that wrote the file.
    pub fn written_by(&self) -> String {
        [self.producer.as_str(), self.producer_version.as_str()].join(" ").trim().to_owned()
    }
}

impl Model {
    /// Reads and prepares a model file, with external data beside it.
    ///
    /// # Errors
    /// [`LoadError`].
    pub fn load(path: &Path, options: &LoadOptions) -> Result<Model, LoadError> {
        Model::prepare(stead_onnx::Model::read(path, &options.limits)?, options)
    }

    /// Prepares a model from the bytes of its file. External data is looked for in `base_dir`, and refused
    /// when there is none.
    ///
    /// # Errors
    /// [`LoadError`].
    pub fn from_bytes(
        bytes: &[u8],
        base_dir: Option<&Path>,
        options: &LoadOptions,
    ) -> Result<Model, LoadError> {
        let len = bytes.len() as u64;
        let model = stead_onnx::Model::from_reader(bytes, len, base_dir, &options.limits)?;
        Model::prepare(model, options)
    }

    /// Prepares a model that was read or made before.
    ///
    /// # Errors
    /// [`LoadError`].
    pub fn from_onnx(model: stead_onnx::Model, options: &LoadOptions) -> Result<Model, LoadError> {
        Model::prepare(model, options)
    }

    /// Prepares a model in parts: what depends on the inputs of a query or of documents only, and the rest.
    ///
    /// # Errors
    /// [`LoadError`].
    pub fn parts_from_bytes(
        bytes: &[u8],
        base_dir: Option<&Path>,
        options: &LoadOptions,
        hoist: &Hoist,
    ) -> Result<Parts, LoadError> {
        let len = bytes.len() as u64;
        let model = stead_onnx::Model::from_reader(bytes, len, base_dir, &options.limits)?;
        Model::parts(model, options, hoist)
    }

    /// Prepares a model in parts; files of external data are those that `find` gives.
    ///
    /// # Errors
    /// [`LoadError`].
    pub fn parts_from_files(
        bytes: &[u8],
        find: &FindFile<'_>,
        options: &LoadOptions,
        hoist: &Hoist,
    ) -> Result<Parts, LoadError> {
        let model = stead_onnx::Model::from_files(bytes, find, &options.limits)?;
        Model::parts(model, options, hoist)
    }

    fn parts(
        model: stead_onnx::Model,
        options: &LoadOptions,
        hoist: &Hoist,
    ) -> Result<Parts, LoadError> {
        let (mut model, isa) = Model::lowered(model, options)?;
        hoist::join(&mut model.ir, &mut model.inputs, &hoist.joined)?;
        passes::fold_constants(&mut model.ir, options, isa)?;
        let before: Vec<(ValueId, IoSpec)> =
            model.ir.body.inputs.iter().copied().zip(model.inputs.iter().cloned()).collect();
        let hoisted = hoist::run(&mut model.ir, &model.inputs, hoist, isa)?;
        let spec_of = |id: &ValueId| before.iter().find(|(known, _)| known == id);
        let kept = model.ir.body.inputs.iter().filter_map(spec_of);
        model.inputs = kept.map(|(_, spec)| spec.clone()).collect();
        let mut part = |piece: Option<Piece>, name: &str| -> Result<Option<Model>, LoadError> {
            let Some(Piece { ir, carried, inputs, parameters }) = piece else { return Ok(None) };
            let output = |(at, id): (usize, &ValueId)| {
                let (name, dtype) = (format!("{name}/{at}"), ir.value(*id).dtype);
                IoSpec { name, dtype, dims: None, optional: false }
            };
            let outputs: Vec<IoSpec> = carried.iter().enumerate().map(output).collect();
            model.inputs.extend(outputs.iter().cloned());
            let inputs = inputs.iter().filter_map(spec_of);
            let inputs = inputs.map(|(_, spec)| spec.clone()).collect();
            let reports = vec![PassReport::new("file", &ir)];
            let info = ModelInfo { parameters, ..ModelInfo::default() };
            let lifted = Lifted::default();
            let (lays_out, own) = (false, model.own);
            let forms = Forms::default();
            let part = Model { ir, inputs, outputs, reports, info, lifted, lays_out, own, forms };
            Ok(Some(part.optimized(options, isa)?))
        };
        let query = part(hoisted.query, "carried")?;
        let documents = part(hoisted.documents, "kept")?;
        let rest = model.optimized(options, isa)?;
        Ok(Parts { query, documents, rest, layers: hoisted.layers })
    }

    fn prepare(model: stead_onnx::Model, options: &LoadOptions) -> Result<Model, LoadError> {
        let (mut model, isa) = Model::lowered(model, options)?;
        if let Some(options_of_lift) = &options.lift {
            passes::fold_first_values(&mut model.ir, options, isa)?;
            let io = model.inputs.iter().chain(&model.outputs);
            let names = io.map(|io| io.name.clone()).collect();
            model.lifted = lift::run(&mut model.ir, names, options_of_lift)?;
            for state in &model.lifted.states {
                let LiftedState { dtype, dims, .. } = state;
                let io = |name: &String, optional| IoSpec {
                    name: name.clone(),
                    dtype: *dtype,
                    dims: dims.clone(),
                    optional,
                };
                model.inputs.push(io(&state.input, true));
                model.outputs.push(io(&state.output, false));
            }
        }
        model.optimized(options, isa)
    }

    /// A model before its passes.
    fn lowered(model: stead_onnx::Model, options: &LoadOptions) -> Result<(Model, Isa), LoadError> {
        let info = describe(&model);
        let model = model.inline_functions(&options.limits)?;
        let graph = &model.graph;
        let is_optional = |v: &ValueInfo| graph.initializer(&v.name).is_some();
        let inputs =
            graph.inputs.iter().map(|v| spec(v, is_optional(v))).collect::<Result<Vec<_>, _>>()?;
        let input_infos = graph.inputs.clone();
        let output_infos = graph.outputs.clone();
        let ir = lower(model)?;
        let outputs: Vec<IoSpec> = output_infos
            .iter()
            .zip(&ir.body.outputs)
            .map(|(v, &id)| IoSpec {
                name: v.name.clone(),
                dtype: ir.value(id).dtype,
                dims: v.ty.dims().map(<[Dim]>::to_vec),
                optional: false,
            })
            .collect();
        let forms =
            |ids: &[ValueId]| Forms::up_to_the_last_list(ids.iter().map(|&id| ir.value(id).form));
        let forms = Forms { inputs: forms(&ir.body.inputs), outputs: forms(&ir.body.outputs) };
        // Nothing in the standard reads a sequence of maps.
        let mut given = input_infos.iter().zip(&ir.body.inputs);
        if let Some((info, &id)) = given.find(|(_, id)| ir.value(**id).form.is_maps()) {
            let (name, actual) = (info.name.clone(), ir.typed(id).to_string());
            return Err(LoadError::Io { direction: "input", name, actual });
        }
        if !options.lists {
            let named = [
                ("input", input_infos, &ir.body.inputs),
                ("output", output_infos, &ir.body.outputs),
            ];
            for (direction, infos, ids) in named {
                let mut io = infos.iter().zip(ids);
                if let Some((info, &id)) = io.find(|(_, id)| ir.value(**id).form != Form::Tensor) {
                    let (name, actual) = (info.name.clone(), ir.typed(id).to_string());
                    if direction == "output" && ir.value(id).form.is_maps() {
                        return Err(LoadError::Maps { name, actual });
                    }
                    return Err(LoadError::Io { direction, name, actual });
                }
            }
        }
        let reports = vec![PassReport::new("file", &ir)];
        let lifted = Lifted::default();
        // Constants are folded with the plainest kernels that are sure to exist everywhere.
        let (lays_out, own) = (false, Own::of(&ir));
        let model = Model { ir, inputs, outputs, reports, info, lifted, lays_out, own, forms };
        Ok((model, Isa::detect()))
    }

    fn optimized(mut self, options: &LoadOptions, isa: Isa) -> Result<Model, LoadError> {
        // Runs are held to what the model says of its inputs, and to nothing else that the file says.
        let inputs = self.ir.body.inputs.iter().zip(&self.inputs);
        self.ir.declared =
            inputs.filter_map(|(id, spec)| Some((*id, spec.dims.clone()?))).collect();
        passes::run(&mut self.ir, options, isa, &mut self.reports)?;
        self.lays_out = options.passes.lays_out();
        Ok(self)
    }

    /// Lays images out in blocks of channels, those of bytes with channels together, unless the model was loaded without that pass.
    pub(crate) fn lay_out(&mut self, isa: Isa) -> Result<(), LoadError> {
        if self.lays_out {
            passes::last::run(&mut self.ir, isa)?;
            passes::blocks::run(&mut self.ir, isa)?;
        }
        Ok(())
    }

    /// The inputs in order, optional ones included.
    pub fn inputs(&self) -> &[IoSpec] {
        &self.inputs
    }

    /// The outputs in order.
    pub fn outputs(&self) -> &[IoSpec] {
        &self.outputs
    }

    /// Whether the input at this position is a tensor, and what else.
    pub fn input_form(&self, index: usize) -> Form {
        self.forms.inputs.get(index).copied().unwrap_or_default()
    }

    /// Whether the output at this position is a tensor, and what else.
    pub fn output_form(&self, index: usize) -> Form {
        self.forms.outputs.get(index).copied().unwrap_or_default()
    }

    /// The first input that is no tensor.
    pub(crate) fn first_list(&self) -> Option<(&IoSpec, Form)> {
        let inputs = self.inputs.iter().zip(self.forms.inputs.iter().copied());
        inputs.into_iter().find(|(_, form)| *form != Form::Tensor)
    }

    /// The states that [`LoadOptions::lift`] has made inputs and outputs of, in the order in which they stand
    /// behind all other [`inputs`](Model::inputs) and [`outputs`](Model::outputs). Empty for a model without
    /// recurrence: it has nothing to carry from one request to the next.
    pub fn lifted(&self) -> &[LiftedState] {
        &self.lifted.states
    }

    /// The recurrences that [`LoadOptions::lift`] has left alone, with the reasons.
    pub fn unlifted(&self) -> &[Unlifted] {
        &self.lifted.unlifted
    }

    /// What the file says about itself.
    pub fn info(&self) -> &ModelInfo {
        &self.info
    }

    /// Node counts after each pass.
    pub fn pass_reports(&self) -> &[PassReport] {
        &self.reports
    }
}

fn spec(value: &ValueInfo, optional: bool) -> Result<IoSpec, LoadError> {
    let dtype = type_of("input", &value.name, &value.ty)?.dtype;
    let dims = value.ty.dims().map(<[Dim]>::to_vec);
    Ok(IoSpec { name: value.name.clone(), dtype, dims, optional })
}

fn describe(model: &stead_onnx::Model) -> ModelInfo {
    let mut counts = std::collections::BTreeMap::new();
    let mut info = ModelInfo {
        ir_version: model.ir_version,
        producer: model.producer.clone(),
        producer_version: model.producer_version.clone(),
        domain: model.domain.clone(),
        version: model.version,
        description: model.description.clone(),
        graph_name: model.graph.name.clone(),
        graph_description: model.graph.description.clone(),
        opsets: model.opset_imports.iter().map(|o| (o.domain.clone(), o.version)).collect(),
        metadata: model.metadata.clone(),
        ..ModelInfo::default()
    };
    let mut graphs = vec![&model.graph];
    while let Some(graph) = graphs.pop() {
        for (_, tensor) in &graph.initializers {
            info.parameters += tensor.shape().elements();
            info.parameter_bytes += tensor.bytes().len();
        }
        for node in &graph.nodes {
            let separator = if node.domain.is_empty() { "" } else { "." };
            let name = format!("{}{separator}{}", node.domain, node.op_type);
            *counts.entry(name).or_insert(0) += 1;
            graphs.extend(node.subgraphs().map(|(_, g)| g));
        }
    }
    info.op_counts = counts.into_iter().collect();
    info
}
