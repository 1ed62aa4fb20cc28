//! stead's engine beside ONNX Runtime: same process, same inputs, one thread, turn by turn.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ort::environment::Environment;
use ort::memory::MemoryInfo;
use ort::session::{IoBinding, Session as OrtSession};
use ort::value::{DynTensor, Tensor as OrtTensor};
use stead_engine::{LoadOptions, Model, RunContext, Session, SessionOptions};
use stead_tensor::{DType, Tensor};

use crate::report::{Report, quantile_us, us};
use crate::{Result, variable};

/// One turn of a side lasts about this long: short, so that both sides meet the same weather on a shared
/// machine, and long beside the switch, so that caches are warm for most of it.
const TURN: Duration = Duration::from_millis(20);

/// A model, its inputs and how stead should compare.
struct Case {
    name: &'static str,
    model: PathBuf,
    inputs: Vec<(&'static str, Tensor)>,
    /// The ratio stead / ONNX Runtime that the project wants.
    goal: f64,
}

/// Measures all cases.
pub fn run(report: &mut Report, budget: Duration) -> Result<()> {
    let env = ort::init_from(variable("ORT_DYLIB_PATH")?)?.build()?;
    let mut rows = Vec::new();
    for case in cases()? {
        rows.push(compare(&env, &case, budget)?);
        println!("{}", rows[rows.len() - 1].join("  "));
    }
    let note = "One thread each. ONNX Runtime 1.31.1 runs with bound inputs and outputs (its quickest form). \
                Differences are the largest over all outputs.";
    let header = ["model", "stead", "ONNX Runtime", "ratio", "goal", "difference"];
    report.table("Engine", note, &header, &rows);
    Ok(())
}

fn cases() -> Result<Vec<Case>> {
    let minilm = Path::new(&variable("STEAD_MINILM")?).join("model.onnx");
    let mlp = Path::new(&variable("STEAD_MLP")?).join("model.onnx");
    let silero = PathBuf::from(variable("STEAD_SILERO")?);
    let ids = |rows: usize, len: usize| -> Result<Vec<(&'static str, Tensor)>> {
        let n = rows * len;
        let ids: Vec<i64> = (0..n as i64).map(|i| 1000 + (i * 7919) % 20000).collect();
        Ok(vec![
            ("input_ids", Tensor::from_slice(&ids, &[rows, len])?),
            ("attention_mask", Tensor::from_slice(&vec![1i64; n], &[rows, len])?),
            ("token_type_ids", Tensor::from_slice(&vec![0i64; n], &[rows, len])?),
        ])
    };
    let wave = |n: usize| -> Vec<f32> { (0..n).map(|i| (i as f32 * 0.37).sin() * 0.5).collect() };
    let input = |rows: usize| -> Result<_> {
        Ok(vec![("input", Tensor::from_slice(&wave(rows * 256), &[rows, 256])?)])
    };
    let step = |rate: bool| -> Result<_> {
        let mut inputs = vec![
            ("input", Tensor::from_slice(&wave(576), &[1, 576])?),
            ("state", Tensor::from_slice(&vec![0f32; 256], &[2, 1, 128])?),
        ];
        if rate {
            inputs.push(("sr", Tensor::scalar(16000i64)?));
        }
        Ok(inputs)
    };
    let case =
        |name, model: &Path, inputs, goal| Case { name, model: model.to_owned(), inputs, goal };
    Ok(vec![
        case("MiniLM 1x128", &minilm, ids(1, 128)?, 1.5),
        case("MiniLM 8x128", &minilm, ids(8, 128)?, 1.5),
        case("MLP 256-512-128-1, batch 1", &mlp, input(1)?, 1.0),
        case("MLP 256-512-128-1, batch 200", &mlp, input(200)?, 1.5),
        case("silero step", &silero.join("silero_vad.onnx"), step(true)?, 1.3),
        case(
            "silero step, 16 kHz, no If",
            &silero.join("silero_vad_openvino_16k.onnx"),
            step(false)?,
            1.3,
        ),
    ])
}

fn compare(env: &Environment, case: &Case, budget: Duration) -> Result<Vec<String>> {
    let model = match Model::load(&case.model, &LoadOptions::default()) {
        Ok(model) => model,
        Err(e) => {
            return Ok(vec![
                case.name.into(),
                e.to_string(),
                String::new(),
                String::new(),
                String::new(),
                String::new(),
            ]);
        }
    };
    let session = Session::new(model, &SessionOptions::default())?;
    let find = |name: &str| case.inputs.iter().find(|(n, _)| *n == name).map(|(_, t)| t.view());
    let views: Vec<_> = session.model().inputs().iter().map(|i| find(&i.name)).collect();
    let cx = RunContext::default();
    let stead = || -> Result<()> { Ok(session.run_with(&views, &cx, |_| ())?) };

    let (mut other, binding) = onnx_runtime(env, case)?;
    let difference = difference(&session, case, &mut other, &binding)?;
    let mut runtime =
        || -> Result<()> { other.run_binding(&binding).map(drop).map_err(Into::into) };

    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    turn(&mut Vec::new(), stead)?;
    turn(&mut Vec::new(), &mut runtime)?;
    let until = Instant::now() + budget;
    while Instant::now() < until {
        turn(&mut ours, stead)?;
        turn(&mut theirs, &mut runtime)?;
    }
    let (a, b) = (quantile_us(&mut ours, 0.5), quantile_us(&mut theirs, 0.5));
    let met = if a / b <= case.goal { "met" } else { "missed" };
    Ok(vec![
        case.name.to_owned(),
        us(a),
        us(b),
        format!("{:.2}", a / b),
        format!("{:.1} {met}", case.goal),
        format!("{difference:.1e}"),
    ])
}

/// Runs one side for a turn and notes the time of each run in nanoseconds.
fn turn(times: &mut Vec<u64>, mut once: impl FnMut() -> Result<()>) -> Result<()> {
    let until = Instant::now() + TURN;
    loop {
        let started = Instant::now();
        once()?;
        times.push(started.elapsed().as_nanos() as u64);
        if Instant::now() >= until {
            return Ok(());
        }
    }
}

fn onnx_runtime(env: &Environment, case: &Case) -> Result<(OrtSession, IoBinding)> {
    let session = OrtSession::builder(env)?
        .with_intra_threads(1)
        .map_err(|e| e.to_string())?
        .with_inter_threads(1)
        .map_err(|e| e.to_string())?
        .commit_from_file(&case.model)?;
    let mut binding = session.create_binding()?;
    for (name, tensor) in &case.inputs {
        binding.bind_input(*name, &ort_tensor(tensor)?)?;
    }
    for output in session.outputs() {
        binding.bind_output_to_device(output.name(), &MemoryInfo::default())?;
    }
    Ok((session, binding))
}

fn ort_tensor(tensor: &Tensor) -> Result<DynTensor> {
    let dims: Vec<i64> = tensor.shape().iter().map(|&d| d as i64).collect();
    Ok(match tensor.dtype() {
        DType::F32 => OrtTensor::from_array((dims, tensor.as_slice::<f32>()?.to_vec()))?.upcast(),
        DType::I64 => OrtTensor::from_array((dims, tensor.as_slice::<i64>()?.to_vec()))?.upcast(),
        other => return Err(format!("no ONNX Runtime tensor of type {other}").into()),
    })
}

/// The largest difference between the two over all outputs: a fast wrong answer is worth nothing.
fn difference(
    session: &Session,
    case: &Case,
    other: &mut OrtSession,
    binding: &IoBinding,
) -> Result<f32> {
    let feed: Vec<_> = case.inputs.iter().map(|(name, t)| (*name, t.view())).collect();
    let ours = session.run(&feed, &[])?;
    let theirs = other.run_binding(binding)?;
    let mut largest = 0f32;
    for (spec, ours) in session.model().outputs().iter().zip(&ours) {
        let (_, theirs) = theirs[spec.name.as_str()].try_extract_tensor::<f32>()?;
        for (a, b) in ours.as_slice::<f32>()?.iter().zip(theirs) {
            largest = largest.max((a - b).abs());
        }
    }
    Ok(largest)
}
