"""make_torch.py FOLDER: the models of `torch_models` as packages FOLDER/NAME.pkg with a recorded example, each opened again and compared with
what was not packaged; as TorchScript where that converts, with what two threads run of it over what one runs of the model. Prints a line of JSON for
each."""

import importlib
import json
import statistics
import sys
import types
from pathlib import Path

import torch
from stead_package import PackageExporter, PackageImporter
from torch_models.speed import counted

# What the code of each model imports and serving does not need.
MOCKS = {
    "bert": [],
    "mobilenet": [],
    "dlrm": [],
    "moco": ["torchvision.**"],
    "tacotron": ["librosa.**", "scipy.**"],
    "swish": [],
}
# Lines of the code that had to be changed: none, since tensors of a package that is opened by its path can be written to.
EDITS = {}
# Of TorchScript beside the model, in seconds.
WINDOW, ROUNDS = 0.8, 5


class StandIn(types.ModuleType):
    """Training had it; here nothing of it is used."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None


def flat(value):
    return [value] if isinstance(value, torch.Tensor) else [tensor for part in value for tensor in flat(part)]


def same(found, expected):
    return all(torch.allclose(a, b, rtol=1e-5, atol=1e-6) for a, b in zip(flat(found), flat(expected)))


def scripted(model, inputs, expected):
    """Whether it is the same as TorchScript, and how often two threads run that for each run of the model on one; if not, why."""
    try:
        script = torch.jit.script(model)
        found = script(*inputs)
    except Exception as error:  # of any kind: the compiler has many
        return next(line.strip() for line in str(error).splitlines() if line.strip())[:120], None
    if not same(found, expected):
        return "differs", None
    for _ in range(3):  # it is compiled for what it is called with
        script(*inputs)
    turns = [(counted(script, inputs, 2, WINDOW), counted(model, inputs, 1, WINDOW)) for _ in range(ROUNDS)]
    return "same", statistics.median(script / max(plain, 1) for script, plain in turns)


def main(folder):
    torch.set_num_threads(1)
    missing = ["torchvision", "torchvision.transforms", "librosa", "librosa.filters", "scipy", "scipy.io"]
    sys.modules.update({name: StandIn(name) for name in missing})
    for name, mocks in MOCKS.items():
        code = importlib.import_module(f"torch_models.{name}")
        torch.manual_seed(7)
        model, inputs = code.model().eval(), code.inputs()
        before = {key: value.clone() for key, value in model.state_dict().items()}
        with torch.no_grad():
            expected = model(*inputs)
        # A call may have changed what the model keeps; the package has what it was.
        model.load_state_dict(before)
        path = folder / f"{name}.pkg"
        with PackageExporter(str(path)) as exporter:
            if mocks:
                exporter.mock(mocks, allow_empty=False)
            exporter.intern("torch_models.**")
            exporter.save_module("torch_models.speed")
            exporter.save_pickle("model", "model.pkl", model)
            exporter.save_pickle("model", "inputs.pkl", inputs)
            exporter.save_entry_point("run", "model/model.pkl")
            exporter.save_example("first", inputs, expected, entry_point="run", rtol=1e-5, atol=1e-6)
        loaded = PackageImporter(str(path)).load_pickle("model", "model.pkl")
        with torch.no_grad():
            packaged = same(loaded(*inputs), expected)
        told = {"model": name, "mocks": mocks, "edits": EDITS.get(name, 0), "packaged": packaged}
        script, speed = scripted(model, inputs, expected)
        print(json.dumps({**told, "script": script, "script_speed": speed}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
