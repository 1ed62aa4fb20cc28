"""Makes the package that main.rs loads: a small image model with weights, and code that is called around it.

    python3 make_package.py mobile_net_v3.pkg
"""

import sys
from pathlib import Path

import numpy

from stead_package import PackageExporter

sys.path.insert(0, str(Path(__file__).parent / "package"))
import mobile_net


def main(path):
    model = mobile_net.MobileNet(numpy.random.default_rng(3))
    image = numpy.random.default_rng(4).random((1, 3, 224, 224), dtype="float32")
    with PackageExporter(path) as e:
        e.intern(["mobile_net", "gpu_inference", "post_process"])
        e.extern(["numpy", "cupy"])
        e.save_pickle("model", "model.pkl", model)
        e.save_module("gpu_inference")
        e.save_module("post_process")
        e.save_entry_point("classify", "model/model.pkl")
        e.save_example("noise", [image], model(image), entry_point="classify")


main(sys.argv[1])
