//! Python packages of handlers as archives: what they bundle, what they need, and what they cost on disk.
#![cfg(unix)]
#![allow(clippy::print_stdout, clippy::unwrap_used)] // helpers of tests, and skipped tests say so

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::server::{Server, package, stead};

const SERVICES: &str =
    "<services version='1.0'><container id='c' version='1.0'><python timeout='20'/>
  <handler id='h' python='shop:H'><binding>http://*/h</binding></handler></container></services>";

const SHOP: &str = "
import stead
class H(stead.RequestHandler):
    def handle(self, request):
        import tinylib
        return stead.Response(f'{tinylib.version} {tinylib.__file__}')
";

const PLAIN: &str = "
import stead
class H(stead.RequestHandler):
    def handle(self, request):
        return stead.Response('good')
";

fn has_python() -> bool {
    let found = stead(&["python", "doctor", "--json"]).status.success();
    if !found {
        println!("skipped: no Python on this machine");
    }
    found
}

/// A wheel of a library `tinylib`, as any tool makes them.
fn wheel(folder: &Path, version: &str, tag: &str) -> PathBuf {
    let path = folder.join(format!("tinylib-{version}-{tag}.whl"));
    let program = "
import sys, zipfile
path, version, tag = sys.argv[1:]
info = f'tinylib-{version}.dist-info'
with zipfile.ZipFile(path, 'w') as wheel:
    wheel.writestr('tinylib/__init__.py', f'version = {version!r}')
    wheel.writestr(f'{info}/METADATA', f'Metadata-Version: 2.1\\nName: tinylib\\nVersion: {version}\\n')
    wheel.writestr(f'{info}/WHEEL', f'Wheel-Version: 1.0\\nTag: {tag}\\n')
    wheel.writestr(f'{info}/RECORD', '')
";
    let mut command = Command::new("python3");
    command.args(["-c", program]).arg(&path).args([version, tag]);
    assert!(command.status().unwrap().success());
    path
}

/// An application whose package `shop` is built by a recipe that ends with these lines.
fn application(code: &str, recipe: &str) -> tempfile::TempDir {
    let app = package(&[("services.xml", SERVICES), ("python/README.txt", "")]);
    let rules = "rules = [{ intern = [\"shop.**\"] }, { extern = [\"**\"] }]\nmodules = [\"shop\"]";
    let sources = package(&[("shop.py", code), ("shop.toml", &format!("{rules}\n{recipe}"))]);
    let at = |name: &str| sources.path().join(name).to_str().unwrap().to_owned();
    let to = app.path().join("python/shop.pkg");
    let built =
        stead(&["package", "build", "--recipe", &at("shop.toml"), "-o", to.to_str().unwrap()]);
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    app
}

fn deploy(server: &Server, app: &Path) -> Result<String, String> {
    let deployed = stead(&["deploy", app.to_str().unwrap(), "--target", &server.deploy]);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match deployed.status.success() {
        true => Ok(text(&deployed.stdout)),
        false => Err(text(&deployed.stderr)),
    }
}

fn get(server: &Server, path: &str) -> String {
    server.exchange("GET", path, "", b"").2
}

fn entries(folder: PathBuf) -> Vec<PathBuf> {
    let mut found: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

#[test]
fn wheels_are_unpacked_once_for_each_content() {
    if !has_python() {
        return;
    }
    let (data, wheels) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Server::start_with(data.path(), &["--python_interpreters", "2"]);
    let bundling = |version: &str| {
        let wheel = wheel(wheels.path(), version, "py3-none-any");
        application(SHOP, &format!("bundles = [{:?}]", wheel.to_str().unwrap()))
    };
    let (one, two) = (bundling("1.0"), bundling("2.0"));
    let bundles = || entries(data.path().join("python/bundles"));
    deploy(&server, one.path()).unwrap();
    let first = bundles();
    assert_eq!(first.len(), 1);
    let from = |folder: &Path| folder.join("tinylib/__init__.py").display().to_string();
    assert_eq!(get(&server, "/h"), format!("1.0 {}", from(&first[0])));
    let written = std::fs::metadata(from(&first[0])).unwrap().ino();

    // The same again finds it there, and so does the next start.
    deploy(&server, one.path()).unwrap();
    assert_eq!(bundles(), first);
    let server = server.again(data.path());
    assert_eq!(get(&server, "/h"), format!("1.0 {}", from(&first[0])));
    assert_eq!(std::fs::metadata(from(&first[0])).unwrap().ino(), written);

    // Another version takes the place of the one that is imported already, and what nobody has goes.
    deploy(&server, two.path()).unwrap();
    let second = bundles();
    assert_eq!(get(&server, "/h"), format!("2.0 {}", from(&second[0])));
    assert_eq!(second.len(), 1);
    assert_ne!(second, first);
}

#[test]
fn what_a_package_lacks_is_told_when_it_is_deployed() {
    if !has_python() {
        return;
    }
    let (data, wheels) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Server::start(data.path());
    deploy(&server, application(PLAIN, "").path()).unwrap();
    let foreign = wheel(wheels.path(), "1.0", "cp27-cp27mu-any");
    let bundle = format!("bundles = [{:?}]", foreign.to_str().unwrap());
    let missing = format!("import no_such_module_x\n{PLAIN}");
    for (label, code, recipe, expected) in [
        (
            "ABI",
            SHOP,
            bundle.as_str(),
            vec![
                "Python package shop: package shop: bundle tinylib 1.0 is for cp27-cp27mu-any, and this is cp3",
                "bundle the wheel for this Python and platform",
            ],
        ),
        (
            "minor version",
            PLAIN,
            "requires_python = \"3.99\"",
            vec!["Python package shop: ", "wants Python 3.99, and this is Python 3."],
        ),
        (
            "extern",
            &missing,
            "",
            vec!["Python package shop: extern module 'no_such_module_x' is not installed"],
        ),
    ] {
        let app = application(code, recipe);
        let told = deploy(&server, app.path()).unwrap_err();
        for expected in expected {
            assert!(told.contains(expected), "{label}: {told}");
        }
        assert_eq!(get(&server, "/h"), "good", "{label}");
    }
}

#[test]
fn deployments_of_one_archive_have_it_once_on_disk() {
    if !has_python() {
        return;
    }
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let app = application(PLAIN, "");
    deploy(&server, app.path()).unwrap();
    deploy(&server, app.path()).unwrap();
    let packages = entries(data.path().join("python/packages"));
    assert_eq!(packages.len(), 1);
    let sessions = entries(data.path().join("applications/sessions"));
    assert_eq!(sessions.len(), 2);
    for session in sessions {
        let own = std::fs::metadata(session.join("content/python/shop.pkg")).unwrap();
        assert_eq!(own.ino(), std::fs::metadata(&packages[0]).unwrap().ino());
    }
}
