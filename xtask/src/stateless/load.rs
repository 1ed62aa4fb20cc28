//! Loads by `stead bench --target`.

use std::ffi::OsStr;

use serde_json::Value;

use super::Context;
use crate::process;

/// What came of a closed loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub clients: usize,
    /// Good answers a second.
    pub per_second: f64,
    pub p50_ms: f64,
    pub p95_ms: f64,
    pub p99_ms: f64,
}

/// So many clients for some seconds; the arguments say what they send.
///
/// # Errors
/// When an answer is not good.
pub fn closed(
    context: &Context,
    target: &str,
    what: &[&OsStr],
    clients: usize,
    seconds: &str,
) -> Result<Point, String> {
    let clients = clients.to_string();
    let told = told(context, target, what, &["--clients", &clients, "--seconds", seconds])?;
    point(&told["clients"][0]).ok_or_else(|| "stead bench told no numbers".to_owned())
}

/// So many requests at once.
///
/// # Errors
/// When there is no report; answers may be bad.
pub fn burst(
    context: &Context,
    target: &str,
    what: &[&OsStr],
    requests: usize,
    deadline: &str,
) -> Result<Value, String> {
    let requests = requests.to_string();
    let told = report(context, target, what, &["--burst", &requests, "--deadline", deadline])?;
    Ok(told["bursts"][0].clone())
}

fn told(context: &Context, target: &str, what: &[&OsStr], how: &[&str]) -> Result<Value, String> {
    let told = report(context, target, what, how)?;
    match told["clients"][0]["first_error"].as_str() {
        Some(error) => Err(format!("{target}: {error}")),
        None => Ok(told),
    }
}

fn report(context: &Context, target: &str, what: &[&OsStr], how: &[&str]) -> Result<Value, String> {
    let mut command = process::command(&context.stead, ["bench", "--json", "--target", target]);
    command.args(what).args(how).args(["--timeout", "120s"]);
    let told = process::capture(&mut command, "stead bench")?;
    serde_json::from_str(&told).map_err(|_| format!("stead bench told nothing of {target}"))
}

fn point(told: &Value) -> Option<Point> {
    let number = |key: &str| told[key].as_f64();
    Some(Point {
        clients: number("clients")? as usize,
        per_second: number("good_per_s")?,
        p50_ms: number("p50_ms")?,
        p95_ms: number("p95_ms")?,
        p99_ms: number("p99_ms")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn points_are_read() {
        let told = json!({"clients": 4, "good_per_s": 10.5, "p50_ms": 1, "p95_ms": 2.5, "p99_ms": 3, "endings": {"200": 9}});
        let expected =
            Point { clients: 4, per_second: 10.5, p50_ms: 1.0, p95_ms: 2.5, p99_ms: 3.0 };
        assert_eq!(point(&told), Some(expected));
        // Without a good answer there are no percentiles.
        assert_eq!(point(&json!({"clients": 4, "good_per_s": 0, "p50_ms": null})), None);
    }
}
