//! The command line: parsing, dispatch and exit codes.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, Command, FromArgMatches};

use crate::commands::{
    bench, check, conformance, deploy, encode, evaluate, feed, get, inspect, ops, package, python,
    quantize, query, rank, run, sequence, store, tensor, test, visit,
};
use crate::demo;
use crate::failure::{EXIT_USAGE, Failure};
use crate::serve;

/// The whole command line.
pub fn command() -> Command {
    Command::new("stead")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Runs and serves ONNX models, and stores, searches and ranks documents with them")
        .after_help(
            "Examples:\n  stead demo\n  stead serve models/\n  stead run model.onnx --input x=@x.npy\n\n\
             Exit codes: 0 success, 1 failure, 64 wrong usage.",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(serve::flags::command())
        .subcommand(run::RunArgs::augment_args(Command::new("run")))
        .subcommand(bench::BenchArgs::augment_args(Command::new("bench")))
        .subcommand(check::CheckArgs::augment_args(Command::new("check")))
        .subcommand(conformance::ConformanceArgs::augment_args(Command::new("conformance")))
        .subcommand(deploy::DeployArgs::augment_args(Command::new("deploy")))
        .subcommand(encode::EncodeArgs::augment_args(Command::new("encode")))
        .subcommand(evaluate::EvaluateArgs::augment_args(Command::new("evaluate")))
        .subcommand(feed::FeedArgs::augment_args(Command::new("feed")))
        .subcommand(get::GetArgs::augment_args(Command::new("get")))
        .subcommand(inspect::InspectArgs::augment_args(Command::new("inspect")))
        .subcommand(ops::OpsArgs::augment_args(Command::new("ops")))
        .subcommand(package::PackageArgs::augment_args(Command::new("package")))
        .subcommand(python::PythonArgs::augment_args(Command::new("python")))
        .subcommand(quantize::QuantizeArgs::augment_args(Command::new("quantize")))
        .subcommand(query::QueryArgs::augment_args(Command::new("query")))
        .subcommand(rank::RankArgs::augment_args(Command::new("rank")))
        .subcommand(sequence::SequenceArgs::augment_args(Command::new("sequence")))
        .subcommand(store::StoreArgs::augment_args(Command::new("store")))
        .subcommand(tensor::TensorArgs::augment_args(Command::new("tensor")))
        .subcommand(test::TestArgs::augment_args(Command::new("test")))
        .subcommand(visit::VisitArgs::augment_args(Command::new("visit")))
        .subcommand(demo::DemoArgs::augment_args(Command::new("demo")))
}

/// Parses `args` (the program's name first), runs the subcommand and gives the exit code.
pub fn main(args: Vec<OsString>) -> ExitCode {
    match command().try_get_matches_from(with_serve(args)) {
        Ok(matches) => match dispatch(&matches) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(failure) => {
                eprintln!("error: {failure}");
                failure.exit_code()
            }
        },
        Err(error) => {
            let asked = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            // A closed pipe is no reason to fail differently.
            let _ = error.print();
            if asked { ExitCode::SUCCESS } else { ExitCode::from(EXIT_USAGE) }
        }
    }
}

/// Adds the `serve` that command lines for OpenVINO Model Server do not have.
fn with_serve(mut args: Vec<OsString>) -> Vec<OsString> {
    let texts: Vec<String> =
        args.iter().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    if serve::flags::is_ovms_command_line(&texts) {
        args.insert(1, "serve".into());
    }
    args
}

/// Runs the subcommand; false means that it did its work and the outcome is bad.
fn dispatch(matches: &clap::ArgMatches) -> Result<bool, Failure> {
    let Some((name, args)) = matches.subcommand() else {
        return Err(Failure::usage("no command"));
    };
    match name {
        "serve" => serve::run(args).map(|()| true),
        "run" => run::run(&parsed(args)?),
        "bench" => bench::run(&parsed(args)?),
        "check" => check::run(&parsed(args)?),
        "conformance" => conformance::run(&parsed(args)?),
        "deploy" => deploy::run(&parsed(args)?).map(|()| true),
        "encode" => encode::run(&parsed(args)?).map(|()| true),
        "evaluate" => evaluate::run(&parsed(args)?).map(|()| true),
        "feed" => feed::run(&parsed(args)?),
        "get" => get::run(&parsed(args)?),
        "inspect" => inspect::run(&parsed(args)?).map(|()| true),
        "ops" => ops::run(&parsed(args)?),
        "package" => package::run(&parsed(args)?),
        "python" => python::run(&parsed(args)?),
        "quantize" => quantize::run(&parsed(args)?).map(|()| true),
        "query" => query::run(&parsed(args)?).map(|()| true),
        "rank" => rank::run(&parsed(args)?).map(|()| true),
        "sequence" => sequence::run(&parsed(args)?).map(|()| true),
        "store" => store::run(&parsed(args)?),
        "tensor" => tensor::run(&parsed(args)?),
        "test" => test::run(&parsed(args)?),
        "visit" => visit::run(&parsed(args)?).map(|()| true),
        "demo" => demo::run(&parsed(args)?).map(|()| true),
        other => Err(Failure::usage(format!("no command `{other}`"))),
    }
}

fn parsed<T: FromArgMatches>(matches: &clap::ArgMatches) -> Result<T, Failure> {
    T::from_arg_matches(matches).map_err(Failure::usage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_help_with_an_example() {
        command().debug_assert();
        for subcommand in command().get_subcommands_mut() {
            let help = subcommand.render_long_help().to_string();
            let name = subcommand.get_name().to_owned();
            assert!(help.contains("Example") && help.contains("stead "), "{name}");
            assert!(subcommand.get_about().is_some(), "{name}");
            for verb in subcommand.get_subcommands_mut().filter(|v| v.get_name() != "help") {
                let help = verb.render_long_help().to_string();
                assert!(help.contains("Example"), "{name} {}", verb.get_name());
            }
        }
    }
}
