"""What is copied and what is not, and what other threads do meanwhile."""

import os
import resource
import threading
import unittest

import numpy as np
import onnx
import stead
from onnx import TensorProto, helper
from wheel_models import model, one_node, perceptron

MEGABYTE = 1 << 20
LARGE = 96 * MEGABYTE


def grown(call):
    """What a call gives, and by how many bytes the most that the process ever held became more."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = call()
    return result, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024


def in_a_process_of_its_own(test):
    """The most that a process ever held says nothing after another test has held more."""

    def run(self):
        child = os.fork()
        if child == 0:
            try:
                test(self)
            except BaseException:
                import traceback

                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    return run


def single(data):
    options = stead.SessionOptions()
    options.intra_op_num_threads = 1
    return stead.InferenceSession(data, options)


class Copies(unittest.TestCase):
    @in_a_process_of_its_own
    def test_inputs_are_read_where_they_are(self):
        session = single(one_node("ReduceMax", {"x": (TensorProto.FLOAT, ["n", 2])}, {"y": (TensorProto.FLOAT, None)}))
        x = np.full((LARGE // 8, 2), 0.5, np.float32)
        session.run(None, {"x": x[:2]})
        (y,), bytes_more = grown(lambda: session.run(None, {"x": x}))
        self.assertEqual(float(y.reshape(())), 0.5)
        self.assertLess(bytes_more, LARGE // 8)
        # An order that the engine does not read must be copied: the measurement would see a copy.
        _, bytes_more = grown(lambda: session.run(None, {"x": x[::-1]}))
        self.assertGreater(bytes_more, LARGE // 2)

    @in_a_process_of_its_own
    def test_outputs_are_the_memory_that_was_written(self):
        session = single(
            one_node(
                "Expand",
                {"x": (TensorProto.FLOAT, [1]), "shape": (TensorProto.INT64, [1])},
                {"y": (TensorProto.FLOAT, None)},
            )
        )
        feeds = {"x": np.array([2.5], np.float32), "shape": np.array([4])}
        session.run(None, feeds)
        feeds["shape"] = np.array([LARGE // 4])
        (y,), bytes_more = grown(lambda: session.run(None, feeds))
        self.assertEqual((y.nbytes, float(y[0]), float(y[-1])), (LARGE, 2.5, 2.5))
        self.assertLess(bytes_more, LARGE + LARGE // 8)
        _, bytes_more = grown(lambda: y.copy())
        self.assertGreater(bytes_more, LARGE // 2)

    def test_outputs_belong_to_the_caller(self):
        session = stead.InferenceSession(perceptron())
        runs = [np.full((batch, 64), 0.01 * batch, np.float32) for batch in (3, 5, 3, 1)]
        kept = [session.run(None, {"x": x}) for x in runs]
        copies = [[y.copy() for y in ys] for ys in kept]
        addresses = [y.ctypes.data for ys in kept for y in ys]
        self.assertEqual(len(set(addresses)), len(addresses))
        for ys in kept:
            for y in ys:
                self.assertEqual(type(y.base).__name__, "Memory")
                self.assertTrue(y.flags.writeable and y.flags.aligned and y.flags.c_contiguous)
                self.assertEqual(y.ctypes.data % 64, 0)
        for x in runs:
            session.run(None, {"x": x})
        for ys, expected in zip(kept, copies):
            for y, e in zip(ys, expected):
                np.testing.assert_array_equal(y, e)
        kept[0][0][:] = 7  # changes nothing of anybody else's
        np.testing.assert_array_equal(session.run(None, {"x": runs[0]})[0], copies[0][0])
        part = kept[1][0][1:]
        del session, kept
        np.testing.assert_array_equal(part, copies[1][0][1:])

    def test_an_input_that_is_an_output_is_not_shared(self):
        session = stead.InferenceSession(one_node("Identity", {"x": (TensorProto.FLOAT, ["n"])}, {"y": (TensorProto.FLOAT, ["n"])}))
        x = np.ones(4, np.float32)
        (y,) = session.run(None, {"x": x})
        y[:] = 2
        self.assertEqual(x.tolist(), [1, 1, 1, 1])

    @in_a_process_of_its_own
    def test_runs_whose_outputs_nobody_keeps_take_no_more_memory(self):
        session = stead.InferenceSession(perceptron())
        x = np.ones((2000, 64), np.float32)
        for _ in range(50):
            session.run(None, {"x": x})
        _, bytes_more = grown(lambda: [session.run(["p"], {"x": x}) and None for _ in range(2000)])
        self.assertLess(bytes_more, 8 * MEGABYTE)


def endless():
    """Products that take minutes, one after the other."""
    width = 1024
    w = np.eye(width, dtype=np.float32)
    nodes = [
        helper.make_node("MatMul", ["x" if i == 0 else f"v{i}", "w"], [f"v{i + 1}"]) for i in range(2000)
    ]
    spec = {"x": (TensorProto.FLOAT, ["n", width])}
    return model(nodes, spec, {"v2000": (TensorProto.FLOAT, None)}, [onnx.numpy_helper.from_array(w, "w")])


class Threads(unittest.TestCase):
    def test_a_run_lets_other_threads_run_and_ends_when_it_is_told_to(self):
        long, short = single(endless()), single(perceptron())
        options, started, ended = stead.RunOptions(), threading.Event(), []
        x = np.ones((1024, 1024), np.float32)

        def run():
            started.set()
            try:
                ended.append(long.run(None, {"x": x}, options))
            except Exception as error:
                ended.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        started.wait()
        # With the interpreter's lock held by the run, this would only come after its end, and find nothing to terminate.
        (p, _) = short.run(None, {"x": np.ones((1, 64), np.float32)})
        options.terminate = True
        thread.join()
        self.assertEqual(p.shape, (1, 3))
        self.assertEqual([type(e).__name__ for e in ended], ["Fail"])
        self.assertIn("terminate flag", str(ended[0]))
        options.terminate = False
        self.assertEqual(short.run(["p"], {"x": np.ones((1, 64), np.float32)}, options)[0].shape, (1, 3))

    def test_one_session_answers_many_threads(self):
        session = stead.InferenceSession(perceptron())
        inputs = [np.full((n % 5 + 1, 64), n / 100, np.float32) for n in range(40)]
        expected = [session.run(["p"], {"x": x})[0] for x in inputs]
        wrong = []

        def run(first):
            for at in range(first, len(inputs), 4):
                for _ in range(20):
                    (p,) = session.run(["p"], {"x": inputs[at]})
                    if not np.array_equal(p, expected[at]):
                        wrong.append(at)

        threads = [threading.Thread(target=run, args=(first,)) for first in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    @in_a_process_of_its_own
    def test_children_that_were_forked_have_threads_of_their_own(self):
        w = np.random.default_rng(5).normal(size=(512, 512)).astype(np.float32)
        data = model(
            [helper.make_node("MatMul", ["x", "w"], ["y"])],
            {"x": (TensorProto.FLOAT, ["n", 512])},
            {"y": (TensorProto.FLOAT, ["n", 512])},
            [onnx.numpy_helper.from_array(w, "w")],
        )
        session = stead.InferenceSession(data)
        x = np.ones((512, 512), np.float32)
        expected = session.run(None, {"x": x})[0]
        child = os.fork()
        if child == 0:
            os._exit(0 if np.array_equal(session.run(None, {"x": x})[0], expected) else 3)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


if __name__ == "__main__":
    unittest.main()
