//! What a call costs beside a bare hand-over to a thread and back.

use std::sync::mpsc::channel;
use std::time::Instant;

use serde_json::{Value as Json, json};
use stead_python::{
    Call, Deadline, InProcess, Installation, Interpreter, StartOptions, Value, Worker, WorkerLimits,
};
use stead_tensor::Tensor;

use super::{Outcome, load, median};

/// In a turn of each side.
const CALLS: u32 = 2_000;
const TENSORS: u32 = 100;

/// Of the tensor that is handed over and back: 1 MiB.
const CELLS: usize = 1 << 18;

const SOURCE: &str = "def echo(x): return x";

/// Microseconds, medians over rounds, turn by turn, and the median of the rounds' ratios to the bare hand-over.
pub fn measure(python: &Installation, rounds: usize) -> Outcome<Json> {
    let options = StartOptions::default();
    let mut inside = InProcess::start(python, &options)?;
    let mut worker = Worker::start(python, &options, WorkerLimits::default())?;
    load(&mut inside, SOURCE)?;
    load(&mut worker, SOURCE)?;
    let tensor = Value::Tensor(Tensor::from_slice(&vec![1f32; CELLS], &[CELLS])?);
    let mut times: [Vec<f64>; 5] = Default::default();
    for _ in 0..rounds {
        let turn = [
            hand_over()?,
            echo(&mut inside, &Value::Int(1), CALLS)?,
            echo(&mut worker, &Value::Int(1), CALLS)?,
            echo(&mut inside, &tensor, TENSORS)?,
            echo(&mut worker, &tensor, TENSORS)?,
        ];
        times.iter_mut().zip(turn).for_each(|(times, time)| times.push(time));
    }
    let ratios = times[1].iter().zip(&times[0]).map(|(call, bare)| call / bare).collect();
    let ratio = median(ratios);
    let [bare, inside, worker, inside_tensor, worker_tensor] = times.map(median);
    Ok(json!({
        "hand_over_us": bare, "call_us": inside, "worker_us": worker, "ratio": ratio, "tensor_us": inside_tensor,
        "worker_tensor_us": worker_tensor
    }))
}

/// Of a number to a thread that answers with it.
fn hand_over() -> Outcome<f64> {
    let (to, received) = channel::<u32>();
    let (back, answers) = channel();
    let echo = std::thread::spawn(move || received.iter().all(|x| back.send(x).is_ok()));
    // The thread has started when it answers.
    to.send(0)?;
    answers.recv()?;
    let begin = Instant::now();
    for x in 0..CALLS {
        to.send(x)?;
        answers.recv()?;
    }
    let time = begin.elapsed();
    drop(to);
    echo.join().map_err(|_| "a thread panicked")?;
    Ok(time.as_secs_f64() * 1e6 / f64::from(CALLS))
}

fn echo(interpreter: &mut dyn Interpreter, value: &Value, calls: u32) -> Outcome<f64> {
    let begin = Instant::now();
    for _ in 0..calls {
        let call = Call::new("speed", "echo", vec![value.clone()]);
        interpreter.call(call, Deadline::NEVER)?;
    }
    Ok(begin.elapsed().as_secs_f64() * 1e6 / f64::from(calls))
}
