//! stead's engine beside ONNX Runtime, rten and tract: same process, same inputs, one thread, turn by turn.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ort::environment::Environment;
use ort::memory::MemoryInfo;
use ort::session::{IoBinding, Session as OrtSession};
use ort::value::{DynTensor, Tensor as OrtTensor};
use rten::ThreadPool;
use stead_engine::{LoadOptions, Model, RunContext, Session, SessionOptions};
use stead_tensor::{DType, Tensor};

use crate::report::{Report, quantile_us, us};
use crate::rust_peers::{self, Outputs, Run};
use crate::{Result, variable};

/// One turn of a side lasts about this long: short, so that both sides meet the same weather on a shared
/// machine, and long beside the switch, so that caches are warm for most of it.
const TURN: Duration = Duration::from_millis(20);

/// A peer whose outputs differ from ONNX Runtime's by more is not timed: a fast wrong answer is worth nothing.
const AGREE: f32 = 1e-3;

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
    // rten runs on a pool of its own. All sides run on that pool's one thread, so that rten pays for no
    // hand-over between threads.
    let pool = Arc::new(ThreadPool::with_num_threads(1));
    let rows = pool.run(|| measure(&pool, budget).map_err(|e| e.to_string()))?;
    let note = "One thread each, turn by turn; a ratio is stead's time over the peer's (below 1 stead is quicker). \
                ONNX Runtime 1.31.1 runs with bound inputs and outputs (its quickest form), rten 0.27.0 with \
                prepacked weights, tract 0.23.9 optimised for the concrete shapes. Each answers within 1e-3 of \
                ONNX Runtime; the last column is stead's largest difference from it over all outputs.";
    let header = [
        "model",
        "stead",
        "ONNX Runtime",
        "ratio",
        "goal",
        "rten",
        "ratio",
        "tract",
        "ratio",
        "difference",
    ];
    report.table("Engine", note, &header, &rows);
    Ok(())
}

fn measure(pool: &Arc<ThreadPool>, budget: Duration) -> Result<Vec<Vec<String>>> {
    let env = ort::init_from(variable("ORT_DYLIB_PATH")?)?.build()?;
    let mut rows = Vec::new();
    for case in cases()? {
        rows.push(row(&case, compare(&env, pool, &case, budget)?));
        println!("{}", rows[rows.len() - 1].join("  "));
    }
    Ok(rows)
}

/// Items of a batch of silero steps.
const BATCH: usize = 32;

/// Measures silero at the batch that many streams make; the answer is a line of JSON with microseconds a run.
pub fn batch(budget: Duration) -> Result<String> {
    let case = Case {
        name: "silero batch",
        model: PathBuf::from(variable("STEAD_SILERO_BATCH")?),
        inputs: vec![
            ("input", Tensor::from_slice(&wave(BATCH * 576), &[BATCH, 576])?),
            ("state", Tensor::from_slice(&vec![0f32; BATCH * 256], &[2, BATCH, 128])?),
        ],
        goal: f64::INFINITY,
    };
    let pool = Arc::new(ThreadPool::with_num_threads(1));
    let measure = || -> Result<Compared> {
        let env = ort::init_from(variable("ORT_DYLIB_PATH")?)?.build()?;
        compare(&env, &pool, &case, budget)
    };
    let compared = pool.run(|| measure().map_err(|e| e.to_string()))?;
    let [rten, tract] = compared.rust.map(|peer| match peer {
        Ok(us) => us.to_string(),
        Err(reason) => format!("{reason:?}"),
    });
    Ok(format!(
        "{{\"items\":{BATCH},\"stead_us\":{},\"onnxruntime_us\":{},\"rten_us\":{rten},\"tract_us\":{tract}}}",
        compared.stead, compared.onnx_runtime
    ))
}

fn wave(n: usize) -> Vec<f32> {
    (0..n).map(|i| (i as f32 * 0.37).sin() * 0.5).collect()
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

fn compare(
    env: &Environment,
    pool: &Arc<ThreadPool>,
    case: &Case,
    budget: Duration,
) -> Result<Compared> {
    let (mut other, binding) = onnx_runtime(env, case)?;
    let session =
        Model::load(&case.model, &LoadOptions::default()).map_err(|e| e.to_string()).and_then(
            |model| Session::new(model, &SessionOptions::default()).map_err(|e| e.to_string()),
        )?;
    let find = |name: &str| case.inputs.iter().find(|(n, _)| *n == name).map(|(_, t)| t.view());
    let views: Vec<_> = session.model().inputs().iter().map(|i| find(&i.name)).collect();
    let cx = RunContext::default();
    let mut stead = || -> Result<()> { Ok(session.run_with(&views, &cx, |_| ())?) };

    let names: Vec<&str> = session.model().outputs().iter().map(|o| o.name.as_str()).collect();
    let expected = reference(&names, &mut other, &binding)?;
    let feed: Vec<_> = case.inputs.iter().map(|(name, t)| (*name, t.view())).collect();
    let ours = session.run(&feed, &[])?;
    let ours: Outputs =
        ours.iter().map(|t| Ok(t.as_slice::<f32>()?.to_vec())).collect::<Result<_>>()?;
    let difference = difference(&ours, &expected)?;
    let mut peers = [
        agreeing(&expected, || rust_peers::rten(&case.model, &case.inputs, pool)),
        agreeing(&expected, || rust_peers::tract(&case.model, &case.inputs)),
    ];
    let mut runtime =
        || -> Result<()> { other.run_binding(&binding).map(drop).map_err(Into::into) };

    // The first turn of each warms it up.
    turn(&mut Vec::new(), &mut stead)?;
    turn(&mut Vec::new(), &mut runtime)?;
    let (mut a, mut b, mut rust) = (Vec::new(), Vec::new(), [Vec::new(), Vec::new()]);
    // The budget is for a pair.
    let until = Instant::now() + budget * 2;
    while Instant::now() < until {
        turn(&mut a, &mut stead)?;
        turn(&mut b, &mut runtime)?;
        for (peer, times) in peers.iter_mut().zip(&mut rust) {
            if let Ok(run) = peer {
                turn(times, || run(false).map(drop))?;
            }
        }
    }
    let median = |peer: &std::result::Result<Run, String>, times: &mut Vec<u64>| match peer {
        Ok(_) => Ok(quantile_us(times, 0.5)),
        Err(reason) => Err(reason.clone()),
    };
    let ([rten, tract], [rten_times, tract_times]) = (&peers, &mut rust);
    let rust = [median(rten, rten_times), median(tract, tract_times)];
    let (stead, onnx_runtime) = (quantile_us(&mut a, 0.5), quantile_us(&mut b, 0.5));
    Ok(Compared { stead, onnx_runtime, rust, difference })
}

/// Medians in microseconds.
struct Compared {
    stead: f64,
    onnx_runtime: f64,
    /// rten and tract, or why they were not timed.
    rust: [std::result::Result<f64, String>; 2],
    difference: f32,
}

fn row(case: &Case, compared: Compared) -> Vec<String> {
    let Compared { stead, onnx_runtime, rust, difference } = compared;
    let ratio = stead / onnx_runtime;
    let met = if ratio <= case.goal { "met" } else { "missed" };
    let mut row = vec![
        case.name.to_owned(),
        us(stead),
        us(onnx_runtime),
        format!("{ratio:.2}"),
        format!("{:.1} {met}", case.goal),
    ];
    for peer in rust {
        match peer {
            Ok(peer) => row.extend([us(peer), format!("{:.2}", stead / peer)]),
            Err(reason) => row.extend([reason, "-".to_owned()]),
        }
    }
    row.push(format!("{difference:.1e}"));
    row
}

/// Prepares a peer and checks its answer. The error is what the table shows in its place.
fn agreeing(
    expected: &Outputs,
    load: impl FnOnce() -> Result<Run>,
) -> std::result::Result<Run, String> {
    let answer = rust_peers::guarded(|| {
        let mut run = load()?;
        let outputs = run(true)?;
        Ok((run, difference(&outputs, expected)?))
    });
    match answer {
        Ok((run, difference)) if difference <= AGREE => Ok(run),
        Ok((_, difference)) => Err(format!("wrong: differs by {difference:.1e}")),
        Err(e) => Err(format!("refused: {}", short(&e.to_string()))),
    }
}

/// The first line of a reason, cut so that it fits a cell.
fn short(reason: &str) -> String {
    let line: String = reason.lines().next().unwrap_or_default().replace('|', "/");
    let line: Vec<char> = line.chars().collect();
    match line.get(..80) {
        Some(start) => start.iter().chain(&['.'; 3]).collect(),
        None => line.iter().collect(),
    }
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

/// The named outputs as ONNX Runtime gives them.
fn reference(names: &[&str], session: &mut OrtSession, binding: &IoBinding) -> Result<Outputs> {
    let outputs = session.run_binding(binding)?;
    names.iter().map(|&name| Ok(outputs[name].try_extract_tensor::<f32>()?.1.to_vec())).collect()
}

/// The largest difference over all outputs, infinite where one is not a number.
fn difference(ours: &Outputs, expected: &Outputs) -> Result<f32> {
    let lengths = |o: &Outputs| o.iter().map(Vec::len).collect::<Vec<_>>();
    if lengths(ours) != lengths(expected) {
        return Err(format!("outputs of {:?} elements", lengths(ours)).into());
    }
    let pairs = ours.iter().flatten().zip(expected.iter().flatten());
    Ok(pairs.fold(0f32, |largest, (a, b)| {
        let d = (a - b).abs();
        if d.is_nan() { f32::INFINITY } else { largest.max(d) }
    }))
}
