//! Products as part of what a core multiplies and adds in registers, on each instruction set.

use std::path::Path;

use crate::results::{Table, goal};
use crate::{paths, process};

/// Instruction sets by the names of `STEAD_ISA`, with those of people.
const SETS: [(&str, &str); 3] =
    [("avx512", "AVX-512"), ("avx2", "AVX2"), ("amx", "AVX-512 and AMX")];

/// Sizes of rows, columns and inner dimension, where the matrix of columns lies, and the part of the peak that is the goal.
struct Product {
    size: [usize; 3],
    from_memory: bool,
    least: f64,
}

const fn near(size: [usize; 3]) -> Product {
    Product { size, from_memory: false, least: 0.9 }
}

const fn far(size: [usize; 3]) -> Product {
    Product { size, from_memory: true, least: 0.8 }
}

/// Packed matrices that the second cache holds, and weights that no cache holds under rows as a batch of sequences has.
const PRODUCTS: [Product; 7] = [
    near([64, 256, 256]),
    near([128, 384, 384]),
    near([512, 512, 512]),
    near([1024, 1024, 1024]),
    far([40, 1536, 512]),
    far([40, 4096, 512]),
    far([40, 512, 4096]),
];

/// What the example tells of one instruction set.
#[derive(Debug, PartialEq)]
struct Told {
    /// GFLOP/s in registers.
    peak: f64,
    /// Sizes, and GFLOP/s and the percentage of the peak with the packed matrix in a cache and from memory.
    rates: Vec<(String, [(f64, f64); 2])>,
}

/// The table.
///
/// # Errors
/// Builds that fail, and a machine on which no set is measured. A set that the machine has not is a column that says so.
pub fn table() -> Result<Table, String> {
    let mut build = process::cargo();
    build.args(["build", "--release", "--quiet", "-p", "stead-kernels", "--example", "gemm_bench"]);
    process::run(&mut build, "cargo build of gemm_bench")?;
    let program = paths::target().join("release/examples/gemm_bench");
    let told = SETS.map(|(set, _)| measured(&program, set));
    if let [Err(why), Err(_), Err(_)] = &told {
        return Err(format!("gemm_bench measured nothing: {why}"));
    }
    Ok(told_of(&told.map(Result::ok)))
}

fn measured(program: &Path, set: &str) -> Result<Told, String> {
    let mut command = std::process::Command::new(program);
    read(&process::capture(command.arg(set), "gemm_bench")?, set)
}

/// The lines that the example prints: the peak, then sizes with a rate, a percentage and a time for each form of the matrix. A
/// machine without the set prints what it has instead.
fn read(text: &str, set: &str) -> Result<Told, String> {
    let first = text.lines().next().unwrap_or_default();
    let peak =
        first.strip_suffix(" GFLOP/s on one core").and_then(|line| line.split_once(": peak "));
    let peak = peak.filter(|(name, _)| name.eq_ignore_ascii_case(set));
    let peak = peak.and_then(|(_, number)| number.parse().ok());
    let peak = peak.ok_or_else(|| format!("{set}: {first}"))?;
    let rates = text.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let rate = |at: usize| {
            let part = words.get(at + 1)?.strip_suffix('%')?;
            Some((words.get(at)?.parse::<f64>().ok()?, part.parse::<f64>().ok()?))
        };
        let size = words.first().filter(|size| size.split('x').count() == 3)?;
        Some(((*size).to_owned(), [rate(1)?, rate(4)?]))
    });
    Ok(Told { peak, rates: rates.collect() })
}

fn told_of(told: &[Option<Told>; SETS.len()]) -> Table {
    let row = |product: &Product| {
        let size = product.size.map(|n| n.to_string()).join("x");
        let cells = told.iter().map(|told| {
            let Some(told) = told else { return "not on this machine".to_owned() };
            let rate = told.rates.iter().find(|(known, _)| *known == size);
            let Some((_, rates)) = rate else { return "not measured".to_owned() };
            let (rate, part) = rates[usize::from(product.from_memory)];
            format!("{rate:.0} GFLOP/s, {part:.0} % {}", goal(part >= product.least * 100.0))
        });
        let lies = if product.from_memory { "memory" } else { "a cache" };
        let goal = format!("{:.0} %", product.least * 100.0);
        [size.clone(), lies.to_owned(), goal].into_iter().chain(cells).collect()
    };
    let peaks = SETS.iter().zip(told).filter_map(|((_, name), told)| {
        told.as_ref().map(|told| format!("{:.0} GFLOP/s with {name}", told.peak))
    });
    Table {
        title: "products and the peak of a core".to_owned(),
        note: format!(
            "`cargo run --release -p stead-kernels --example gemm_bench SET`, one thread, f32, turn by turn with multiply-adds in registers: medians of the \
             rates and of the paired ratios. Sizes are rows, columns and inner dimension; the matrix is packed before. When nothing else has run, registers \
             reach {}; a core that multiplies all the time is slower, for both. With AMX products of 48 rows and more are six of bf16.",
            peaks.collect::<Vec<_>>().join(" and ")
        ),
        header: ["product", "matrix from", "goal"]
            .into_iter()
            .chain(SETS.map(|set| set.1))
            .collect(),
        rows: PRODUCTS.iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "Avx2: peak 100.0 GFLOP/s on one core
           m x n x k               B packed  B packed, from memory                 B rows
          64x256x256     95.0  95%   1.23us     70.0  70%  12.00us     80.0  80%   1.50us
         40x1536x512     93.0  93%   1.23us     79.9  79%  12.00us     80.0  80%   1.50us
       MB of weights        1 row       2 rows
                   1    50.0 GB/s    60.0 GB/s
";

    #[test]
    fn rates_are_read_and_judged_by_their_goals() -> Result<(), String> {
        let told = read(PRINTED, "avx2")?;
        assert_eq!(told.peak, 100.0);
        let rates = [
            ("64x256x256", [(95.0, 95.0), (70.0, 70.0)]),
            ("40x1536x512", [(93.0, 93.0), (79.9, 79.0)]),
        ];
        assert_eq!(told.rates, rates.map(|(size, rates)| (size.to_owned(), rates)));
        assert!(read(PRINTED, "avx512").is_err());
        let table = told_of(&[None, Some(told), None]);
        let row = |size: &str| table.rows.iter().find(|row| row[0] == size).cloned();
        assert_eq!(
            row("64x256x256").unwrap_or_default()[1..],
            [
                "a cache",
                "90 %",
                "not on this machine",
                "95 GFLOP/s, 95 % met",
                "not on this machine"
            ]
        );
        assert_eq!(
            row("40x1536x512").unwrap_or_default()[1..],
            [
                "memory",
                "80 %",
                "not on this machine",
                "80 GFLOP/s, 79 % missed",
                "not on this machine"
            ]
        );
        assert!(table.note.contains("100 GFLOP/s with AVX2"), "{}", table.note);
        Ok(())
    }
}
