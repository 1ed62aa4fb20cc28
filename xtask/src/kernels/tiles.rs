//! Products by tiles of AMX as part of what these reach in registers.

use crate::results::Table;
use crate::{paths, process};

/// What the example tells.
#[derive(Debug, PartialEq)]
struct Told {
    /// GFLOP/s of bf16 and GOP/s of bytes in registers.
    peaks: [f64; 2],
    /// Sizes, and the rates of bf16 with the packed matrix in a cache and from memory, then of bytes.
    rates: Vec<(String, [f64; 4])>,
}

/// The table.
///
/// # Errors
/// Builds that fail, and a machine without tiles.
pub fn table() -> Result<Table, String> {
    let mut build = process::cargo();
    build.args(["build", "--release", "--quiet", "-p", "stead-kernels", "--example", "tile_bench"]);
    process::run(&mut build, "cargo build of tile_bench")?;
    let program = paths::target().join("release/examples/tile_bench");
    let mut command = std::process::Command::new(program);
    Ok(told_of(&read(&process::capture(&mut command, "tile_bench")?)?))
}

/// The lines that the example prints: both peaks, then sizes with a rate and a percentage for each column.
fn read(text: &str) -> Result<Told, String> {
    let first = text.lines().next().unwrap_or_default();
    let numbers: Vec<f64> = first.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let &[halves, bytes] = numbers.as_slice() else { return Err(first.to_owned()) };
    let rates = text.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let size = words.first().filter(|size| size.split('x').count() == 3)?;
        let rates: Vec<f64> = words[1..]
            .iter()
            .filter(|word| !word.ends_with('%'))
            .filter_map(|w| w.parse().ok())
            .collect();
        Some(((*size).to_owned(), rates.try_into().ok()?))
    });
    Ok(Told { peaks: [halves, bytes], rates: rates.collect() })
}

fn told_of(told: &Told) -> Table {
    let cell = |rate: f64, peak: f64, unit: &str| {
        format!("{rate:.0} {unit}, {:.0} %", 100.0 * rate / peak)
    };
    let [halves, bytes] = told.peaks;
    let row = |(size, rates): &(String, [f64; 4])| {
        vec![
            size.clone(),
            cell(rates[0], halves, "GFLOP/s"),
            cell(rates[1], halves, "GFLOP/s"),
            cell(rates[2], bytes, "GOP/s"),
            cell(rates[3], bytes, "GOP/s"),
        ]
    };
    Table {
        title: "products by tiles of AMX".to_owned(),
        note: format!(
            "`cargo run --release -p stead-kernels --example tile_bench`, one thread, the shortest of many short runs, with the packing of the left side and a bias. In \
             registers tiles reach {halves:.0} GFLOP/s of bf16 and {bytes:.0} GOP/s of bytes on this core; percentages are of these. A matrix from memory is as fast as memory: \
             with 128 rows each byte of bf16 takes part in 128 multiplications and additions, each byte of an i8 in 256."
        ),
        header: vec![
            "product",
            "bf16, from a cache",
            "from memory",
            "bytes, from a cache",
            "from memory",
        ],
        rows: told.rates.iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "peak 4000 GFLOP/s of bf16 and 8000 GOP/s of bytes on one core
       m x n x k         bf16  from memory        bytes  from memory
     128x768x768    2000  50%    1000  25%    4000  50%    2000  25%
";

    #[test]
    fn rates_are_read_as_parts_of_the_peak() -> Result<(), String> {
        let told = read(PRINTED)?;
        assert_eq!(told.peaks, [4000.0, 8000.0]);
        let rates = [2000.0, 1000.0, 4000.0, 2000.0];
        assert_eq!(told.rates, [("128x768x768".to_owned(), rates)]);
        let table = told_of(&told);
        assert_eq!(
            table.rows[0],
            [
                "128x768x768",
                "2000 GFLOP/s, 50 %",
                "1000 GFLOP/s, 25 %",
                "4000 GOP/s, 50 %",
                "2000 GOP/s, 25 %"
            ]
        );
        assert_eq!(read("no tiles on this machine"), Err("no tiles on this machine".to_owned()));
        Ok(())
    }
}
