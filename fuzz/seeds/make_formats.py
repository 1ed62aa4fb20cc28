"""Makes the seeds of the fuzz targets openvino and tensorflow of the nets of stead-formats' tests: python make_formats.py."""

import pathlib

HERE = pathlib.Path(__file__).parent
NETS = HERE / "../../crates/formats/tests/data/openvino"

for name in ["variables", "iterations", "mlp_fp16"]:
    folder = HERE / "openvino"
    folder.mkdir(exist_ok=True)
    xml, bin = (NETS / f"{name}.{end}" for end in ("xml", "bin"))
    (folder / name).write_bytes(xml.read_bytes() + b"\0" + bin.read_bytes())

MODELS = HERE / "../../crates/formats/tests/data/tensorflow"
folder = HERE / "tensorflow"
folder.mkdir(exist_ok=True)
for name in ["images.pb", "operations.pb", "mlp/variables/variables.index"]:
    (folder / pathlib.Path(name).name).write_bytes((MODELS / name).read_bytes())
