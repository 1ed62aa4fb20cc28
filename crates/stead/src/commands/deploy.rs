//! `stead deploy`: sends an application package to a server.

use std::fs::File;
use std::io::{BufWriter, IsTerminal, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use stead_app::package::PackageFiles;
use zip::write::SimpleFileOptions;

use crate::failure::Failure;
use crate::http_client::{AccessArgs, Target};

/// How long a server may take to load the models of a package.
const PATIENCE: Duration = Duration::from_secs(600);

/// The largest file of a package.
const MAX_FILE: u64 = 4 << 30;

/// Deploy an application package to a server
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A package is a folder, a zip or a tar.gz with services.xml and schemas/ as Vespa has them. The server reads it, \
    loads its models and compiles its expressions before it serves it; a package that is refused changes nothing. \
    `stead check` tells the same errors without a server.\n\n\
    Examples:\n  stead serve --data /var/lib/stead &\n  stead deploy my-app/\n  \
    stead deploy application.zip --target http://10.0.0.5:19071 --json"
)]
pub struct DeployArgs {
    /// The package: a folder, a zip or a tar.gz.
    package: PathBuf,
    /// The deploy port of the server.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:19071")]
    target: Target,
    #[command(flatten)]
    access: AccessArgs,
    /// Print what the server answers.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &DeployArgs) -> Result<(), Failure> {
    let (status, text) = send(&args.package, &args.access.reach(&args.target)?)?;
    let json: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
    let message = json["message"].as_str().unwrap_or(&text);
    if args.json {
        println!("{}", text.trim_end());
    }
    // A session that is prepared and not activated is answered with 200.
    if status != 200 || json["activated"] == Value::Bool(false) {
        return Err(Failure::failed(message));
    }
    if !args.json {
        for line in json["log"].as_array().into_iter().flatten() {
            let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
            eprintln!("{}: {}", text("level").to_lowercase(), text("message"));
        }
        println!("{message}");
    }
    Ok(())
}

/// Sends a package; the status and the text of the answer.
///
/// # Errors
/// When it is no package, or nobody answers.
pub fn send(package: &Path, target: &Target) -> Result<(u16, String), Failure> {
    let fail = |e: &dyn std::fmt::Display| Failure::failed(format!("{}: {e}", package.display()));
    let (file, kind) = match package.is_dir() {
        true => (pack(package)?, "application/zip"),
        false => {
            let mut file = File::open(package).map_err(|e| fail(&e))?;
            let mut magic = [0; 2];
            file.read_exact(&mut magic).and_then(|()| file.rewind()).map_err(|e| fail(&e))?;
            match &magic {
                b"PK" => (file, "application/zip"),
                [0x1f, 0x8b] => (file, "application/x-gzip"),
                _ => return Err(fail(&"expected a folder, a zip or a tar.gz")),
            }
        }
    };
    let length = file.metadata().map_err(|e| fail(&e))?.len();
    let bar = match std::io::stderr().is_terminal() {
        true => indicatif::ProgressBar::new(length),
        false => indicatif::ProgressBar::hidden(),
    };
    let path = "/application/v2/tenant/default/prepareandactivate";
    let mut body = bar.wrap_read(&file);
    let answer = target.send_body("POST", path, kind, (&mut body, length), PATIENCE);
    bar.finish_and_clear();
    let answer = answer.map_err(of_deploy_port)?;
    Ok((answer.status, String::from_utf8_lossy(&answer.body).into_owned()))
}

/// A failure to reach the deploy port, with who has one.
pub fn of_deploy_port(failure: Failure) -> Failure {
    let hint = "only a server with a folder (`stead serve --data DIR`) has a deploy port";
    Failure::failed(format!("{failure}; {hint}"))
}

/// A folder as a zip in a file that is gone when it is closed. What `.vespaignore` names stays out.
pub fn pack(folder: &Path) -> Result<File, Failure> {
    let fail = |e: &dyn std::fmt::Display| Failure::failed(format!("{}: {e}", folder.display()));
    let files = PackageFiles::open(folder).map_err(|e| fail(&e))?;
    let file = tempfile::tempfile().map_err(|e| fail(&e))?;
    let mut zip = zip::ZipWriter::new(BufWriter::new(file));
    for path in files.paths() {
        let is_large = files.size(path).unwrap_or(0) >= u64::from(u32::MAX);
        let options = SimpleFileOptions::default().large_file(is_large);
        let bytes = files.read(path, MAX_FILE).map_err(|e| fail(&e))?;
        zip.start_file(path, options).map_err(|e| fail(&e))?;
        zip.write_all(&bytes).map_err(|e| fail(&e))?;
    }
    let mut file = zip.finish().map_err(|e| fail(&e))?.into_inner().map_err(|e| fail(&e))?;
    file.rewind().map_err(|e| fail(&e))?;
    Ok(file)
}
