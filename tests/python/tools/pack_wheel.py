"""Packs the wheel of python/stead around a module that is compiled already.

Usage: pack_wheel.py MODULE OUT

MODULE is the dynamic library of crates/wheel, OUT the folder of the wheel, whose path is printed. Name, tags and metadata are
those of maturin, which reads pyproject.toml; it would also compile everything that the module needs once more, because cargo
gives a package alone other features of its dependencies than it has in the workspace.
"""

import base64
import hashlib
import pathlib
import subprocess
import sys
import tempfile
import zipfile

PROJECT = pathlib.Path(__file__).resolve().parents[3] / "python/stead"


def metadata(folder):
    """The folder `NAME.dist-info` as maturin writes it."""
    write = [sys.executable, "-m", "maturin", "pep517", "write-dist-info"]
    write += ["--metadata-directory", folder, "--interpreter", sys.executable]
    subprocess.run(write, cwd=PROJECT, check=True, capture_output=True)
    return next(pathlib.Path(folder).glob("*.dist-info"))


def pack(module, out):
    with tempfile.TemporaryDirectory() as folder:
        info = metadata(folder)
        tags = dict(line.split(": ", 1) for line in (info / "WHEEL").read_text().splitlines() if line)
        wheel = out / f"{info.stem}-{tags['Tag']}.whl"
        files = {f"{info.name}/{file.name}": file.read_bytes() for file in info.iterdir()}
        for file in sorted((PROJECT / "src").rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                files[file.relative_to(PROJECT / "src").as_posix()] = file.read_bytes()
        files["stead/_engine.abi3.so"] = module.read_bytes()
        record = f"{info.name}/RECORD"
        lines = []
        for name, data in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(data)}\n")
        files[record] = "".join([*lines, f"{record},,\n"]).encode()
        with zipfile.ZipFile(wheel, "w") as archive:  # stored: it is installed once and from here
            for name, data in files.items():
                archive.writestr(name, data)
    return wheel


if __name__ == "__main__":
    module, out = map(pathlib.Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    print(pack(module, out))
