"""What expressions and networks of rank profiles are measured against: numpy and ONNX Runtime on one thread.

    python rankers.py make FOLDER    writes a package with the network, and vectors
    python rankers.py serve FOLDER   reads the name of a measurement from each line and answers with milliseconds
"""

import os

for name in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]:
    os.environ[name] = "1"

import sys
import time
from pathlib import Path

import numpy as np

DOCUMENTS = 200
USER = ITEM = 128
LAYERS = [USER + ITEM, 512, 128, 1]

SCHEMA = """schema doc {
  document doc {
    field item type tensor<float>(d0[1],d1[128]) { indexing: attribute }
  }
  onnx-model ranker {
    file: files/ranker.onnx
    input x: concat(query(user), attribute(item), d1)
    output score: score
  }
  rank-profile p {
    inputs { query(user) tensor<float>(d0[1],d1[128]) }
    first-phase { expression: sum(onnx(ranker).score) }
  }
}
"""

SERVICES = """<services version="1.0"><content id="c" version="1.0"><redundancy>1</redundancy>
<documents><document type="doc" mode="index"/></documents></content></services>
"""


def make(folder):
    """The network 256-512-128-1 as a package, the vectors of a user and of documents, and the scores."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    for path in ["schemas", "files"]:
        (folder / "package" / path).mkdir(parents=True, exist_ok=True)
    (folder / "package/schemas/doc.sd").write_text(SCHEMA)
    (folder / "package/services.xml").write_text(SERVICES)
    rng = np.random.default_rng(5)
    nodes, constants, x = [], [], "x"
    for at, (rows, columns) in enumerate(zip(LAYERS, LAYERS[1:])):
        last = at == len(LAYERS) - 2
        weight = (rng.standard_normal((rows, columns)) / np.sqrt(rows)).astype(np.float32)
        bias = rng.standard_normal(columns).astype(np.float32)
        constants += [numpy_helper.from_array(weight, f"w{at}"), numpy_helper.from_array(bias, f"b{at}")]
        sums = "score" if last else f"s{at}"
        nodes.append(helper.make_node("Gemm", [x, f"w{at}", f"b{at}"], [sums]))
        if not last:
            x = f"h{at}"
            nodes.append(helper.make_node("Relu", [sums], [x]))
    tensor = lambda name, columns: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", columns])
    graph = helper.make_graph(nodes, "ranker", [tensor("x", LAYERS[0])], [tensor("score", 1)], constants)
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=10), folder / "package/files/ranker.onnx")
    np.save(folder / "user.npy", rng.standard_normal((1, USER)).astype(np.float32))
    np.save(folder / "items.npy", rng.standard_normal((DOCUMENTS, ITEM)).astype(np.float32))
    np.save(folder / "scores.npy", Network(folder).scores())


class Network:
    """The network in ONNX Runtime on one thread, with bound inputs and outputs: its quickest form."""

    def __init__(self, folder):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        path = str(folder / "package/files/ranker.onnx")
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        user, items = np.load(folder / "user.npy"), np.load(folder / "items.npy")
        rows = np.concatenate([np.repeat(user, len(items), axis=0), items], axis=1)
        self.all = self.bound(rows)
        self.each = [self.bound(row[None]) for row in rows]

    def bound(self, rows):
        binding = self.session.io_binding()
        scores = np.empty((len(rows), 1), np.float32)
        rows = np.ascontiguousarray(rows)
        binding.bind_input("x", "cpu", 0, np.float32, rows.shape, rows.ctypes.data)
        binding.bind_output("score", "cpu", 0, np.float32, scores.shape, scores.ctypes.data)
        return binding, rows, scores

    def scores(self):
        self.batch()
        return self.all[2][:, 0].copy()

    def batch(self):
        # What Python adds to a call is left out where it can be.
        self.session._sess.run_with_iobinding(self.all[0]._iobinding, None)

    def one_by_one(self):
        run = self.session._sess.run_with_iobinding
        for binding, _, _ in self.each:
            run(binding._iobinding, None)


class Arrays:
    """The arithmetic of expressions in numpy, in its quickest form, over arrays that lie as stead's columns do."""

    def __init__(self):
        self.rng = np.random.default_rng(1)

    def floats(self, *shape):
        return self.rng.standard_normal(shape, dtype=np.float32)

    def dot(self, count):
        documents, query = self.floats(count, 128), self.floats(128)
        repeat = max(1_000_000 // count, 1)

        def run():
            for _ in range(repeat):
                documents @ query

        return run

    def weighted(self):
        columns = self.floats(30, 1_000_000)
        weights = self.floats(30)
        return lambda: weights @ columns

    def tokens(self):
        """For each document the number of its tokens."""
        return self.rng.integers(80, 181, 1000)

    def best_matches(self):
        documents = [self.floats(count, 128) for count in self.tokens()]
        query = np.ascontiguousarray(self.floats(32, 128).T)
        return lambda: [(d @ query).max(axis=0).sum() for d in documents]

    def best_matches_of_bits(self):
        documents = [self.rng.integers(0, 256, (count, 16), dtype=np.uint8) for count in self.tokens()]
        query = np.ascontiguousarray(self.floats(32, 128).T)
        return lambda: [(np.unpackbits(d, axis=1).astype(np.float32) @ query).max(axis=0).sum() for d in documents]

    def hamming(self):
        documents = [self.rng.integers(0, 256, (count, 2), dtype=np.uint64) for count in self.tokens()]
        query = self.rng.integers(0, 256, (32, 1, 2), dtype=np.uint64)

        def one(d):
            bits = np.bitwise_count(d[None] ^ query).sum(axis=2)
            return (1 / (1 + bits)).max(axis=1).sum()

        return lambda: [one(d) for d in documents]


def measured(name, folder):
    """What a name stands for."""
    arrays = Arrays()
    kinds = {
        "dot": lambda count: arrays.dot(int(count)),
        "weighted": arrays.weighted,
        "maxsim": arrays.best_matches,
        "maxsim-bits": arrays.best_matches_of_bits,
        "hamming": arrays.hamming,
        "network": lambda: Network(folder).batch,
        "network-one": lambda: Network(folder).one_by_one,
    }
    kind, *arguments = name.split()
    return kinds[kind](*arguments)


def serve(folder):
    print("ready", flush=True)
    known = {}
    for line in sys.stdin:
        name = line.strip()
        if name not in known:
            # One at a time: the arrays are large.
            known = {key: run for key, run in known.items() if key.startswith("network")}
            known[name] = measured(name, folder)
            known[name]()
        start = time.perf_counter()
        known[name]()
        print((time.perf_counter() - start) * 1e3, flush=True)


if __name__ == "__main__":
    {"make": make, "serve": serve}[sys.argv[1]](Path(sys.argv[2]))
