//! How a command fails.

use std::fmt;
use std::process::ExitCode;

/// Exit code of usage errors: `EX_USAGE` of sysexits.h, which OpenVINO Model Server uses too.
pub const EXIT_USAGE: u8 = 64;

/// Why a command did not do its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The command line makes no sense: exit code 64.
    Usage(String),
    /// The command line was understood, the work failed: exit code 1.
    Failed(String),
}

impl Failure {
    /// A usage error.
    pub fn usage(text: impl fmt::Display) -> Failure {
        Failure::Usage(text.to_string())
    }

    /// A failure of the work itself.
    pub fn failed(text: impl fmt::Display) -> Failure {
        Failure::Failed(text.to_string())
    }

    /// The exit code.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Usage(_) => ExitCode::from(EXIT_USAGE),
            Failure::Failed(_) => ExitCode::FAILURE,
        }
    }
}

/// Ends the process without a word when nobody reads its output any more, as behind `| head`: `println!` panics then.
pub fn end_without_readers() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // The standard library's text of a failed `print!`, and the system's number of a broken pipe.
        let is_unread =
            |text: &str| text.starts_with("failed printing to") && text.contains("os error 32");
        if panic.payload_as_str().is_some_and(is_unread) {
            std::process::exit(0);
        }
        report(panic);
    }));
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(text) | Failure::Failed(text) => f.write_str(text),
        }
    }
}
