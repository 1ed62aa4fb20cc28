//! Loads a model and runs it from eight threads at once, each into a buffer of its own.
//!
//! ```text
//! cargo run --release -p stead-engine --example concurrent [MODEL.onnx]
//! ```
//!
//! Without an argument it builds a small product `y = x W` in memory. Eight callers share one [`Session`]: the
//! weights are in memory once, there is no lock around a run, and after the first run of each shape nothing
//! is allocated.
#![allow(clippy::print_stdout)]

use stead_engine::{LoadOptions, Model, OutputBuf, RunContext, Session, SessionOptions};
use stead_onnx::ModelBuilder;
use stead_tensor::{DType, Shape, Tensor};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = match std::env::args().nth(1) {
        Some(path) => Model::load(path.as_ref(), &LoadOptions::default())?,
        None => Model::from_bytes(&product()?, None, &LoadOptions::default())?,
    };
    let session = Session::new(model, &SessionOptions::default())?;

    // One tensor of zeros for each input; free dimensions are 1.
    let mut inputs = Vec::new();
    for spec in session.model().inputs() {
        let dims = spec.dims.iter().flatten().map(|d| d.known().unwrap_or(1));
        inputs.push(Tensor::zeros(spec.dtype, Shape::new(&dims.collect::<Vec<_>>())?)?);
    }
    // A first run tells the sizes of the outputs; `run` would allocate them for every call.
    let names = session.model().inputs().iter().map(|spec| spec.name.as_str());
    let named: Vec<_> = names.zip(inputs.iter().map(Tensor::view)).collect();
    let sizes: Vec<usize> = session.run(&named, &[])?.iter().map(|t| t.bytes().len()).collect();

    std::thread::scope(|scope| {
        let callers: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let views: Vec<_> = inputs.iter().map(|t| Some(t.view())).collect();
                    let mut buffers: Vec<Vec<u8>> = sizes.iter().map(|&n| vec![0; n]).collect();
                    let mut outputs: Vec<OutputBuf<'_>> =
                        buffers.iter_mut().map(|bytes| OutputBuf { bytes, shape: None }).collect();
                    for _ in 0..100 {
                        session.run_into(&views, &RunContext::default(), &mut outputs)?;
                    }
                    Ok::<_, stead_engine::RunError>(())
                })
            })
            .collect();
        callers.into_iter().try_for_each(|caller| match caller.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })?;
    println!("800 runs on 8 threads, {:?}", session.plan_stats());
    Ok(())
}

fn product() -> Result<Vec<u8>, stead_tensor::TensorError> {
    let weights: Vec<f32> = (0..64 * 16).map(|i| (i % 7) as f32 - 3.0).collect();
    Ok(ModelBuilder::new(18)
        .input("x", DType::F32, &["batch", "64"])
        .init("w", Tensor::from_slice(&weights, &[64, 16])?)
        .node("MatMul", &["x", "w"], &["y"])
        .output("y", DType::F32)
        .bytes())
}
