//! `stead ops`: the operators that models may have, from the table that the engine loads them by.

use serde_json::{Value, json};
use stead_engine::Form;
use stead_engine::ops::{
    Build, FormSet, In, OpDef, Param, TypeSet, moved, standard, tables, types,
};

use crate::failure::Failure;

/// List the operators that models may have, with their opsets and types
#[derive(Debug, clap::Args)]
#[command(after_help = "The exit code is 1 if an operator that is named is not supported.\n\n\
    Examples:\n  stead ops\n  stead ops Attention Conv\n  stead ops --missing\n  stead ops --json | jq '.operators[].name'")]
pub struct OpsArgs {
    /// Only these operators.
    #[arg(value_name = "OPERATOR")]
    names: Vec<String>,
    /// Only operators of the standard that are not supported.
    #[arg(long, conflicts_with = "names")]
    missing: bool,
    /// Print JSON: operators and missing ones.
    #[arg(long)]
    json: bool,
}

/// The domain of operators that only passes make.
const OWN: &str = "stead";

/// Runs the command. False if an operator that is named is not supported.
pub fn run(args: &OpsArgs) -> Result<bool, Failure> {
    let wanted = |def: &&&OpDef| {
        args.names.is_empty() || args.names.iter().any(|n| n.eq_ignore_ascii_case(def.name))
    };
    let all = definitions();
    let shown: Vec<&OpDef> = all.iter().filter(wanted).copied().collect();
    let unknown: Vec<&String> = args
        .names
        .iter()
        .filter(|name| !all.iter().any(|def| def.name.eq_ignore_ascii_case(name)))
        .collect();
    let missing = missing();
    if args.json {
        let operators: Vec<Value> = shown.iter().map(|def| as_json(def)).collect();
        let missing: Vec<Value> =
            missing.iter().map(|(domain, name)| json!({"domain": domain, "name": name})).collect();
        let operators = if args.missing { Vec::new() } else { operators };
        println!("{}", json!({"operators": operators, "missing": missing}));
        return Ok(unknown.is_empty());
    }
    if !args.missing {
        let rows: Vec<[String; 4]> = shown.iter().map(|def| row(def)).collect();
        print_table(&["operator", "opsets", "how", "types of inputs"], &rows);
    }
    if args.names.is_empty() {
        let (live, ml) = (standard::LIVE.len(), standard::MACHINE_LEARNING.len());
        let lacking = |domain: &str| missing.iter().filter(|(d, _)| *d == domain).count();
        println!(
            "{} of {live} operators of ai.onnx (opset 28), {} of {ml} of ai.onnx.ml",
            live - lacking(""),
            ml - lacking("ai.onnx.ml")
        );
        for (domain, name) in &missing {
            println!("missing: {}", qualified(domain, name));
        }
    }
    for name in &unknown {
        eprintln!("{name}: not supported; docs/adding-an-operator.md says how to add one");
    }
    Ok(unknown.is_empty())
}

/// All definitions that models can name, by domain and name.
fn definitions() -> Vec<&'static OpDef> {
    let mut all: Vec<_> = tables().flatten().filter(|def| def.domain != OWN).collect();
    all.sort_by_key(|def| (def.domain, def.name, def.since));
    all
}

/// Operators of the standard that no table has, with their domains.
fn missing() -> Vec<(&'static str, &'static str)> {
    let of = |domain, list| standard::missing(domain, list).into_iter().map(move |n| (domain, n));
    of("", &standard::LIVE).chain(of("ai.onnx.ml", &standard::MACHINE_LEARNING)).collect()
}

fn qualified(domain: &str, name: &str) -> String {
    if domain.is_empty() { name.to_owned() } else { format!("{domain}.{name}") }
}

fn opsets(def: &OpDef) -> String {
    match (def.since, def.until) {
        (_, i64::MAX) => "all".to_owned(),
        (since, until) => format!("{since}-{until}"),
    }
}

/// Who computes it.
fn how(def: &OpDef) -> &'static str {
    match def.build {
        Build::Op(_) => "kernel",
        Build::Function(_) => "other operators",
        Build::If | Build::Loop | Build::Scan | Build::SequenceMap => "plan",
    }
}

/// The types of elements of an input, which may be strings that are only moved.
fn types(def: &OpDef, index: usize, param: &Param) -> TypeSet {
    match moved::takes(def, index) {
        true => param.types.or(types::STRING),
        false => param.types,
    }
}

/// The types of an input, whether it may be left out or repeated, and what it is where that is no tensor.
fn input(def: &OpDef, index: usize, param: &Param) -> String {
    let types = types(def, index, param);
    let mark = match param.kind {
        In::Required => "",
        In::Optional => "?",
        In::Variadic => "+",
        In::AnyNumber => "*",
    };
    match param.forms {
        FormSet::TENSOR => format!("{types}{mark}"),
        forms => {
            let names: Vec<&str> = forms.forms().map(Form::name).collect();
            format!("{types}{mark} ({})", names.join(", "))
        }
    }
}

fn row(def: &OpDef) -> [String; 4] {
    let inputs: Vec<String> =
        def.inputs.iter().enumerate().map(|(index, param)| input(def, index, param)).collect();
    [qualified(def.domain, def.name), opsets(def), how(def).to_owned(), inputs.join("; ")]
}

fn as_json(def: &OpDef) -> Value {
    let inputs: Vec<Value> = def
        .inputs
        .iter()
        .enumerate()
        .map(|(index, p)| {
            let kind = match p.kind {
                In::Required => "required",
                In::Optional => "optional",
                In::Variadic => "variadic",
                In::AnyNumber => "any number",
            };
            let types = types(def, index, p).to_string();
            let types: Vec<&str> = types.split(' ').collect();
            let forms: Vec<&str> = p.forms.forms().map(Form::name).collect();
            json!({"kind": kind, "types": types, "forms": forms})
        })
        .collect();
    json!({
        "domain": if def.domain.is_empty() { "ai.onnx" } else { def.domain },
        "name": def.name,
        "since": def.since,
        "until": if def.until == i64::MAX { Value::Null } else { def.until.into() },
        "how": how(def),
        "inputs": inputs,
    })
}

fn print_table(head: &[&str; 4], rows: &[[String; 4]]) {
    let mut widths = head.map(str::len);
    for row in rows {
        widths.iter_mut().zip(row).for_each(|(w, cell)| *w = (*w).max(cell.len()));
    }
    let line = |cells: [&str; 4]| {
        let [a, b, c, d] = cells;
        println!("{a:<0$}  {b:<1$}  {c:<2$}  {d}", widths[0], widths[1], widths[2]);
    };
    line(*head);
    for row in rows {
        line(row.each_ref().map(String::as_str));
    }
}

/// The table as Markdown, for `docs/operators.md`.
#[cfg(test)]
fn markdown() -> String {
    let mut text =
        String::from("| operator | opsets | how | types of inputs |\n|---|---|---|---|\n");
    for def in definitions() {
        let [name, opsets, how, inputs] = row(def);
        text += &format!("| {name} | {opsets} | {how} | {inputs} |\n");
    }
    let missing: Vec<String> = missing().iter().map(|(d, n)| qualified(d, n)).collect();
    text += &match missing.as_slice() {
        [] => "\nNothing of the standard is missing.\n".to_owned(),
        some => format!("\nMissing of the standard: {}.\n", some.join(", ")),
    };
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table in the page is generated: `STEAD_UPDATE_DOCS=1 cargo test -p stead ops` rewrites it.
    #[test]
    fn the_page_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operators.md");
        let page = std::fs::read_to_string(path).unwrap();
        let (start, end) = ("<!-- operators: generated -->\n", "<!-- operators: end -->");
        let (head, rest) = page.split_once(start).unwrap();
        let (_, tail) = rest.split_once(end).unwrap();
        let wanted = format!("{head}{start}{}{end}{tail}", markdown());
        if std::env::var_os("STEAD_UPDATE_DOCS").is_some() {
            std::fs::write(path, wanted).unwrap();
        } else {
            assert_eq!(page, wanted);
        }
    }
}
