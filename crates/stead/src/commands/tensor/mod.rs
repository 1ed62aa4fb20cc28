//! `stead tensor`: values of ranking expressions.

mod conformance;
mod repl;
mod session;

use std::path::PathBuf;

use serde_json::json;
use stead_expr::codec::json::{Form, to_json};

use crate::failure::Failure;
use session::Session;

/// Evaluate ranking expressions over numbers and tensors
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without an expression it reads them line by line, each with its type and value; `name = expression` keeps a value.\n\n\
    Examples:\n  stead tensor '2^10'\n  stead tensor 'softmax(tensor(x[3]):[1,2,3], x)'\n  \
    stead tensor --let 'q=tensor<float>(x[2]):[1,2]' 'sum(q * tensor<float>(d{},x[2]):{a:[1,0],b:[0,1]}, x)'\n  \
    stead tensor --explain --let 'q=tensor<float>(x[2]):[1,2]' 'sum(q*q)'\n  stead tensor --form long --json 'tensor(x{}):{a:1}'\n  stead tensor"
)]
pub struct TensorArgs {
    /// The expression; without one, a prompt for many.
    expression: Option<String>,
    /// A value for the expression to use; may stand several times.
    #[arg(long = "let", value_name = "NAME=EXPR")]
    bindings: Vec<String>,
    /// How JSON shows tensors: short, long, hex, short-value, long-value or hex-value.
    #[arg(long, default_value = "short", value_parser = form, requires = "json")]
    form: Form,
    /// Print JSON: type and value.
    #[arg(long)]
    json: bool,
    /// Show the program: its steps, their types, the kernels that were found, and what each step cost.
    #[arg(long, requires = "expression", conflicts_with = "json")]
    explain: bool,
    /// Run the cases of a file in the form of Vespa's test programs (.jsonl or .jsonl.zst) and count them.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["expression", "bindings", "form", "explain"])]
    conformance: Option<PathBuf>,
}

fn form(name: &str) -> Result<Form, String> {
    Form::from_name(name)
        .ok_or_else(|| "expected short, long, hex, short-value, long-value or hex-value".to_owned())
}

/// Runs the command. False if a case of the file failed.
pub fn run(args: &TensorArgs) -> Result<bool, Failure> {
    if let Some(file) = &args.conformance {
        return conformance::run(file, args.json);
    }
    let mut session = Session::default();
    for binding in &args.bindings {
        let Some((name, text)) = session::assignment(binding) else {
            return Err(Failure::usage(format!("--let {binding:?}: expected NAME=EXPRESSION")));
        };
        let value =
            session.value(text).map_err(|e| Failure::usage(format!("--let {name}: {e}")))?;
        session.keep(name, value);
    }
    let Some(text) = &args.expression else {
        return repl::run(session).map(|()| true);
    };
    if args.explain {
        print!("{}", session.explain(text).map_err(Failure::failed)?);
    }
    let value = session.value(text).map_err(Failure::failed)?;
    if args.json {
        let (kind, value) = (value.kind().to_string(), to_json(&value, args.form));
        println!("{}", json!({"type": kind, "value": value}));
    } else {
        println!("{value}");
    }
    Ok(true)
}
