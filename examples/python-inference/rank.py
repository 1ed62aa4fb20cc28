"""Ranks rows by a model, by the names of ONNX Runtime's API: another import is all that differs."""

import os
import sys

import numpy as np

if "--onnxruntime" in sys.argv:
    import onnxruntime as ort
else:
    import stead as ort

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../quickstart/models/ranker/1/model.onnx")

options = ort.SessionOptions()
options.intra_op_num_threads = 1
session = ort.InferenceSession(MODEL, options, providers=["CPUExecutionProvider"])

(features,) = session.get_inputs()
print(features.name, features.type, features.shape)

# Stars, number of reviews, price, minutes on the way.
rows = np.array([[4.7, 320, 12, 24], [3.1, 45, 4, 12], [4.9, 8, 30, 55]], dtype=np.float32)
(scores,) = session.run(["score"], {features.name: rows})
for place, row in enumerate(np.argsort(-scores[:, 0]), start=1):
    print(f"{place}. row {row}: {scores[row, 0]:.4f}")
