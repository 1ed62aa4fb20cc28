"""Writes the node tests that earlier releases of onnx carry as files, for `stead conformance`.

    python earlier_node_tests.py OUT

Their wheels are unzipped, not installed: they are of Pythons of long ago.
"""

import glob
import os
import subprocess
import sys
import tempfile
import zipfile

# The release, and the Python and platform of one of its wheels.
RELEASES = (
    ("1.4.1", "36", "manylinux1_x86_64"),
    ("1.6.0", "36", "manylinux1_x86_64"),
    ("1.10.2", "36", "manylinux2010_x86_64"),
    ("1.15.0", "38", "manylinux2014_x86_64"),
)
NODES = "onnx/backend/test/data/node/"


def main():
    out = sys.argv[1]
    for release, python, platform in RELEASES:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(
                [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary",
                 ":all:", "--implementation", "cp", "--python-version", python, "--platform", platform, "--dest", folder,
                 f"onnx=={release}"], check=True)
            (wheel,) = glob.glob(os.path.join(folder, "*.whl"))
            with zipfile.ZipFile(wheel) as archive:
                for name in archive.namelist():
                    inside = name.removeprefix(NODES)
                    if inside == name or name.endswith("/") or ".." in name:
                        continue
                    path = os.path.join(out, release, inside)
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    with open(path, "wb") as file:
                        file.write(archive.read(name))


if __name__ == "__main__":
    main()
