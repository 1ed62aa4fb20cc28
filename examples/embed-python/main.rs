//! The example of the paper "Using Python for Model Inference in Deep Learning" (torch::deploy), line by line.
//!
//! `cargo run -p stead-python --example embed-python [PYTHON]`
#![allow(clippy::print_stdout)] // an example speaks on stdout

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use stead_python::{
    Choice, Deadline, Installation, InterpreterManager, ManagerOptions, choose, find_default,
};
use stead_tensor::Tensor;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let named = std::env::args_os().nth(1);
    let python = find_default(named.as_deref().map(Path::new))?;
    let choice = choose(&python, None);
    eprintln!("Python {}, {}", python.version, choice.mode.name());
    let folder = std::env::temp_dir().join(format!("embed-python-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let best = make_package(&python, &folder).and_then(|()| run(python, choice, &folder));
    std::fs::remove_dir_all(&folder)?;
    for (i, image) in best?.iter().enumerate() {
        println!("image {i}: {image:?}");
    }
    Ok(())
}

/// Gives the best class of each image and its probability.
pub fn run(python: Installation, choice: Choice, folder: &Path) -> Outcome<Vec<[f32; 2]>> {
    let soon = || Deadline::after(Duration::from_secs(60));

    // An interpreter manager load balances requests across Python interpreters.
    let options = ManagerOptions { interpreters: 8, ..ManagerOptions::default() };
    let manager = InterpreterManager::new(python, choice, options);

    // Open a package saved with stead_package.
    let path = folder.join("mobile_net_v3.pkg");
    let package = manager.load_package("mobile_net_v3", &path, soon())?;

    // Get the pickled model object out of the package, as a MovableObject which can be loaded onto any interpreter.
    let model = package.load_pickle("model", "model.pkl", soon())?;

    let scores = in_threads(|i| {
        let input_image = random_image(i)?;
        // Run the model from multiple threads; the manager load balances the requests across interpreters, loading
        // the MovableObject onto each interpreter the first time it is required.
        let result: Tensor = model.call([input_image.into()], soon())?.into_tensor()?;
        Ok(result)
    })?;

    // A lower-level API can be used to directly interact with Python. Here we use it to wrap the model in a GPUModel
    // which handles moving inputs to and from the GPU.
    let gpu_model = {
        // Start an interaction with one Python interpreter to do model loading.
        let s = package.acquire_session(soon())?;
        // `this` is the PackageImporter object, which we can directly interact with.
        let cpu_model =
            s.this()?.attr("load_pickle")?.call(["model".into(), "model.pkl".into()])?;
        let gpu_model = s.global("gpu_inference", "GPUModel")?;
        let gpu_model_py = gpu_model.call([(&cpu_model).into()])?;
        // Turn the loaded Python model into an object that can be moved across different Python interpreters, using
        // pickle.
        s.create_movable(&gpu_model_py)?
    };

    let best = in_threads(|i| {
        // During inference we can also acquire a handle to the Python interpreter to do more than just call forward.
        let s = gpu_model.acquire_session(soon())?;
        let input_image = random_image(i)?;
        let output_image = s.this()?.call([input_image.into()])?;
        let post = s.global("post_process", "PostProcessImage")?;
        let post_processed = post.call([(&output_image).into()])?;
        let result: Tensor = post_processed.value()?.into_tensor()?;
        Ok(result)
    })?;

    let best = scores.iter().zip(&best).map(|(scores, best)| {
        let (scores, best) = (scores.as_slice::<f32>()?, best.as_slice::<f32>()?);
        let first = scores.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
        match (first, best) {
            (Some((class, _)), [best, probability, ..]) if *best == class as f32 => {
                Ok([*best, *probability])
            }
            _ => Err(format!("the best class is {first:?} and then {best:?}").into()),
        }
    });
    best.collect()
}

/// What `#pragma omp parallel for` does with 8 images.
fn in_threads<T: Send>(work: impl Fn(u32) -> Outcome<T> + Sync) -> Outcome<Vec<T>> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|i| {
                scope.spawn({
                    let work = &work;
                    move || work(i)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().map_err(|_| "a thread panicked")?).collect()
    })
}

fn random_image(seed: u32) -> Outcome<Tensor> {
    let mut state = seed.wrapping_mul(2_654_435_769) | 1;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32
    };
    let pixels: Vec<f32> = std::iter::repeat_with(next).take(3 * 224 * 224).collect();
    Ok(Tensor::from_slice(&pixels, &[1, 3, 224, 224])?)
}

/// Makes the package in a folder, with a Python that has numpy.
pub fn make_package(python: &Installation, folder: &Path) -> Outcome<()> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let output = Command::new(&python.executable)
        .arg(format!("{root}/examples/embed-python/make_package.py"))
        .arg(folder.join("mobile_net_v3.pkg"))
        .env("PYTHONPATH", format!("{root}/python/stead_package/src"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("the package was not made: {}", String::from_utf8_lossy(&output.stderr)).into())
}
