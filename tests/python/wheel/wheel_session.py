"""The wheel beside ONNX Runtime: the same calls give the same answers, and fail in the same way."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy as np
import onnx
import stead
from onnx import TensorProto, helper
from wheel_models import model, one_node, onnxruntime, perceptron, sessions


def outcome(call):
    """What a call gives, or the name of its exception."""
    try:
        return call()
    except Exception as error:
        return type(error).__name__


class Answers(unittest.TestCase):
    def test_outputs_are_those_of_onnx_runtime(self):
        ours, theirs = sessions(perceptron())
        for batch in (1, 3, 200):
            x = np.random.default_rng(batch).normal(size=(batch, 64)).astype(np.float32)
            p, logits = ours.run(None, {"x": x})
            (alone,) = ours.run(["logits"], {"x": x})
            np.testing.assert_array_equal(alone, logits)
            np.testing.assert_allclose(p.sum(axis=1), np.ones(batch), rtol=1e-5)
            if theirs:
                for mine, other in zip((p, logits), theirs.run(None, {"x": x})):
                    np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6)
                    self.assertEqual((mine.dtype, mine.shape), (other.dtype, other.shape))

    def test_what_a_session_says_of_its_model(self):
        def described(session):
            meta = session.get_modelmeta()
            names = [name for name in dir(meta) if not name.startswith("_")]
            nodes = session.get_inputs() + session.get_outputs() + session.get_overridable_initializers()
            return (
                [(node.name, node.type, node.shape, str(node)) for node in nodes],
                {name: getattr(meta, name) for name in names},
                session.get_providers(),
                session.get_provider_options(),
            )

        defaulted = model(
            [helper.make_node("Add", ["x", "d"], ["y"])],
            {"x": (TensorProto.DOUBLE, [None, 2]), "d": (TensorProto.DOUBLE, [1])},
            {"y": (TensorProto.DOUBLE, [None, 2])},
            [onnx.numpy_helper.from_array(np.array([2.0]), "d")],
            model_version=1,
        )
        for data in (perceptron(), defaulted):
            ours, theirs = sessions(data)
            self.assertEqual(ours.get_inputs()[0].name, "x")
            if theirs:
                self.assertEqual(described(ours), described(theirs))
        self.assertEqual(ours.run(None, {"x": np.ones((1, 2))})[0].tolist(), [[3, 3]])
        given = {"x": np.ones((1, 2)), "d": np.array([5.0])}
        self.assertEqual(ours.run(None, given)[0].tolist(), [[6, 6]])

    def test_every_element_type_goes_in_and_comes_out(self):
        kinds = {
            "float": np.float32, "double": np.float64, "float16": np.float16, "int8": np.int8, "int16": np.int16,
            "int32": np.int32, "int64": np.int64, "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32,
            "uint64": np.uint64, "bool": np.bool_, "complex64": np.complex64, "complex128": np.complex128,
        }  # fmt: skip
        import ml_dtypes

        kinds.update(
            bfloat16=ml_dtypes.bfloat16,
            float8e4m3fn=ml_dtypes.float8_e4m3fn,
            float8e4m3fnuz=ml_dtypes.float8_e4m3fnuz,
            float8e5m2=ml_dtypes.float8_e5m2,
            float8e5m2fnuz=ml_dtypes.float8_e5m2fnuz,
        )
        for kind, dtype in kinds.items():
            number = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
            session = stead.InferenceSession(one_node("Identity", {"x": (number, ["n", 2])}, {"y": (number, None)}))
            self.assertEqual(session.get_inputs()[0].type, f"tensor({kind})")
            for x in (np.array([[0, 1], [2, 3], [1, 0]]).astype(dtype), np.zeros((0, 2), dtype)):
                for given in (x, x[::-1], np.asfortranarray(x), stead.OrtValue.ortvalue_from_numpy(x)):
                    expected = given.numpy() if isinstance(given, stead.OrtValue) else given
                    (y,) = session.run(None, {"x": given})
                    self.assertEqual((y.dtype, y.shape), (expected.dtype, expected.shape), kind)
                    self.assertEqual(y.tobytes(), expected.tobytes(), kind)

    def test_texts(self):
        ours, theirs = sessions(one_node("Identity", {"x": (TensorProto.STRING, ["n"])}, {"y": (TensorProto.STRING, ["n"])}))
        texts = ["one", "", "\u4e8c \U0001f600"]
        for given in (np.array(texts, dtype=object), np.array(texts), texts):
            for session in filter(None, (ours, theirs)):
                (y,) = session.run(None, {"x": given})
                self.assertEqual((y.dtype, y.tolist()), (np.dtype(object), texts))
        self.assertEqual(ours.run(None, {"x": np.array([b"a", b"bc"])})[0].tolist(), ["a", "bc"])
        self.assertEqual(ours.run(None, {"x": np.array([1, None], dtype=object)})[0].tolist(), ["1", "None"])

    def test_sequences_and_optionals(self):
        tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
        sequence, optional = helper.make_sequence_type_proto(tensor), helper.make_optional_type_proto(tensor)
        graph = helper.make_graph(
            [
                helper.make_node("SequenceErase", ["list", "at"], ["rest"]),
                helper.make_node("ConcatFromSequence", ["rest"], ["joined"], axis=0),
                helper.make_node("OptionalHasElement", ["maybe"], ["has"]),
            ],
            "lists",
            [
                helper.make_value_info("list", sequence),
                helper.make_tensor_value_info("at", TensorProto.INT64, []),
                helper.make_value_info("maybe", optional),
            ],
            [
                helper.make_value_info("rest", sequence),
                helper.make_tensor_value_info("joined", TensorProto.FLOAT, None),
                helper.make_tensor_value_info("has", TensorProto.BOOL, []),
            ],
        )
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
        ours, theirs = sessions(made.SerializeToString())
        self.assertEqual([i.type for i in ours.get_inputs()], ["seq(tensor(float))", "tensor(int64)", "optional(tensor(float))"])
        self.assertEqual(ours.get_outputs()[0].type, "seq(tensor(float))")
        rows = [np.arange(n, dtype=np.float32) for n in (2, 1, 3)]
        for at in (0, 1, -1):
            feeds = {"list": rows, "at": np.array(at), "maybe": rows[0] if at else None}
            rest, joined, has = ours.run(None, feeds)
            kept = [row for i, row in enumerate(rows) if i != at % 3]
            for mine, other in zip(rest, kept, strict=True):
                np.testing.assert_array_equal(mine, other)
            np.testing.assert_array_equal(joined, np.concatenate(kept))
            self.assertEqual(bool(has), bool(at))
            if theirs:
                for mine, other in zip(rest, theirs.run(["rest"], feeds)[0], strict=True):
                    np.testing.assert_array_equal(mine, other)
        for wrong in (rows[0], [row.astype(np.int64) for row in rows], None):
            self.assertNotIsInstance(outcome(lambda: ours.run(None, {"list": wrong, "at": np.array(0), "maybe": None})), list)

    def test_maps(self):
        ml = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
        scalar = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
        for key, labels, vocabulary in [
            (TensorProto.STRING, {"classlabels_strings": ["b", "a"]}, {"string_vocabulary": ["x", "y", "z"]}),
            (TensorProto.INT64, {"classlabels_int64s": [5, 3]}, {"int64_vocabulary": [1, 2, 3]}),
        ]:
            graph = helper.make_graph(
                [
                    helper.make_node("DictVectorizer", ["given"], ["row"], domain="ai.onnx.ml", **vocabulary),
                    helper.make_node("ZipMap", ["table"], ["maps"], domain="ai.onnx.ml", **labels),
                ],
                "maps",
                [
                    helper.make_value_info("given", helper.make_map_type_proto(key, scalar)),
                    helper.make_tensor_value_info("table", TensorProto.FLOAT, [None, 2]),
                ],
                [
                    helper.make_tensor_value_info("row", TensorProto.FLOAT, None),
                    helper.make_value_info("maps", helper.make_sequence_type_proto(helper.make_map_type_proto(key, scalar))),
                ],
            )
            ours, theirs = sessions(helper.make_model(graph, opset_imports=ml, ir_version=8).SerializeToString())
            of = "string" if key == TensorProto.STRING else "int64"
            self.assertEqual([i.type for i in ours.get_inputs()], [f"map({of},tensor(float))", "tensor(float)"])
            self.assertEqual(ours.get_outputs()[1].type, f"seq(map({of},tensor(float)))")
            names = ["z", "x", "unknown"] if key == TensorProto.STRING else [3, 1, 7]
            feeds = {"given": dict(zip(names, [0.5, 2, 9.0])), "table": np.array([[1, 2], [3, 4.5]], np.float32)}
            row, maps = ours.run(None, feeds)
            self.assertEqual((row.dtype, row.tolist()), (np.float32, [[2, 0, 0.5]]))
            (first, second) = next(iter(labels.values()))
            self.assertEqual(maps, [{first: 1.0, second: 2.0}, {first: 3.0, second: 4.5}])
            self.assertEqual({type(value) for value in maps[0].values()}, {float})
            if theirs:
                self.assertEqual(theirs.run(["maps"], feeds)[0], maps)
                self.assertEqual([i.type for i in theirs.get_inputs()], [i.type for i in ours.get_inputs()])
                self.assertEqual([o.type for o in theirs.get_outputs()], [o.type for o in ours.get_outputs()])
            self.assertEqual(ours.run(["row"], {**feeds, "given": {}})[0].tolist(), [[0, 0, 0]])
            other = {1: 2.0} if key == TensorProto.STRING else {"x": 2.0}
            for wrong in ([1.0], np.zeros(3, np.float32), {names[0]: "text"}, None, *([other] if of == "int64" else [])):
                self.assertNotIsInstance(outcome(lambda: ours.run(None, {**feeds, "given": wrong})), list, wrong)

    def test_arrays_of_any_order_and_byte_order_and_lists(self):
        session, _ = sessions(perceptron())
        x = np.random.default_rng(0).normal(size=(4, 64)).astype(np.float32)
        expected = session.run(["p"], {"x": x})[0]
        odd = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(4, 64)
        self.assertFalse(odd.flags.aligned)
        forms = {
            "fortran": np.asfortranarray(x), "strides": np.repeat(x, 2, axis=1)[:, ::2], "big endian": x.astype(">f4"),
            "odd address": odd, "list": x.tolist(), "read-only": np.frombuffer(x.tobytes(), np.float32).reshape(4, 64),
        }  # fmt: skip
        for label, given in forms.items():
            np.testing.assert_array_equal(session.run(["p"], {"x": given})[0], expected, label)
        scalar = stead.InferenceSession(one_node("Neg", {"x": (TensorProto.INT32, [])}, {"y": (TensorProto.INT32, [])}))
        for given in (np.array(3, np.int32), np.int32(3)):
            (y,) = scalar.run(None, {"x": given})
            self.assertEqual((y.shape, int(y)), ((), -3))

    def test_files_with_weights_beside_them(self):
        data = perceptron()
        x = np.ones((2, 64), np.float32)
        expected = stead.InferenceSession(data).run(None, {"x": x})[0]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            onnx.save_model(
                onnx.load_from_string(data), path, save_as_external_data=True, location="weights.bin", size_threshold=0
            )
            for given in (path, __import__("pathlib").Path(path)):
                np.testing.assert_array_equal(stead.InferenceSession(given).run(None, {"x": x})[0], expected)
            with open(path, "rb") as file:
                alone = file.read()
            with self.assertRaisesRegex(stead.capi.onnxruntime_pybind11_state.InvalidGraph, "external data"):
                stead.InferenceSession(alone)
            options = stead.SessionOptions()
            options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
            np.testing.assert_array_equal(stead.InferenceSession(alone, options).run(None, {"x": x})[0], expected)


class Formats(unittest.TestCase):
    DATA = os.path.join(os.path.dirname(__file__), "../../../crates/formats/tests/data")

    def test_models_of_other_formats_give_what_was_recorded(self):
        cases = (
            ("tensorflow/mlp", "tensorflow/mlp.json", 1e-5),
            ("tensorflow/mlp/saved_model.pb", "tensorflow/mlp.json", 1e-5),
            ("openvino/mlp_fp16.xml", "openvino/mlp_fp16.json", 1e-3),
        )
        for path, record, tolerance in cases:
            session = stead.InferenceSession(os.path.join(self.DATA, path))
            with open(os.path.join(self.DATA, record)) as file:
                runs = json.load(file)
            for run in runs:
                inputs, outputs = (
                    {name: np.array(a["data"], a["type"]).reshape(a["shape"]) for name, a in run[side].items()}
                    for side in ("inputs", "outputs")
                )
                names = list(outputs)
                for name, found in zip(names, session.run(names, inputs)):
                    np.testing.assert_allclose(found, outputs[name], rtol=tolerance, atol=tolerance, err_msg=f"{path} {name}")

    def test_what_cannot_be_read_is_refused_by_name(self):
        with tempfile.TemporaryDirectory() as folder:
            cases = (
                ("net.xml", b"<net", "InvalidProtobuf", "not OpenVINO IR"),
                ("net.nnet", b"<Nnet>", "NotImplemented", "mo --framework kaldi"),
                ("graph.pb", b"\xff\xff", "InvalidProtobuf", ""),
            )
            for name, data, kind, text in cases:
                path = os.path.join(folder, name)
                with open(path, "wb") as file:
                    file.write(data)
                with self.assertRaises(Exception) as caught:
                    stead.InferenceSession(path)
                self.assertEqual(type(caught.exception).__name__, kind, f"{name}: {caught.exception}")
                self.assertIn(text, str(caught.exception))


class Refusals(unittest.TestCase):
    def test_wrong_inputs_raise_what_onnx_runtime_raises(self):
        ours, theirs = sessions(perceptron())
        x = np.ones((2, 64), np.float32)
        cases = [
            ("another type", (None, {"x": x.astype(np.float64)}), "InvalidArgument"),
            ("another rank", (None, {"x": x[0]}), "InvalidArgument"),
            ("another size", (None, {"x": x[:, :5]}), "InvalidArgument"),
            ("no such input", (None, {"x": x, "z": x}), "InvalidArgument"),
            ("no such output", (["z"], {"x": x}), "InvalidArgument"),
            ("an input is missing", (None, {}), "ValueError"),
            ("no array", (None, {"x": 1.0}), "RuntimeError"),
        ]
        for label, arguments, expected in cases:
            for session in filter(None, (ours, theirs)):
                self.assertEqual(outcome(lambda: session.run(*arguments)), expected, label)
        with self.assertRaisesRegex(Exception, r"\(tensor\(double\)\) , expected: \(tensor\(float\)\)"):
            ours.run(None, {"x": x.astype(np.float64)})
        with self.assertRaisesRegex(ValueError, r"Required inputs \(\['x'\]\) are missing from input feed \(\['y'\]\)"):
            ours.run(None, {"y": x})
        with self.assertRaisesRegex(Exception, r"\[stead\] : 2 : INVALID_ARGUMENT : .*\[batch,64\] expected, got \[2,5\]"):
            ours.run(None, {"x": x[:, :5]})

    def test_values_that_do_not_fit_raise_what_onnx_runtime_raises(self):
        data = one_node(
            "Gather",
            {"x": (TensorProto.FLOAT, ["n"]), "i": (TensorProto.INT64, ["k"])},
            {"y": (TensorProto.FLOAT, None)},
        )
        feeds = {"x": np.ones(3, np.float32), "i": np.array([7])}
        for session in filter(None, sessions(data)):
            self.assertEqual(outcome(lambda: session.run(None, feeds)), "InvalidArgument")

    def test_what_is_no_model_raises_what_onnx_runtime_raises(self):
        undefined = one_node("Relu", {"x": (TensorProto.FLOAT, [1])}, {"y": (TensorProto.FLOAT, [1])})
        undefined = undefined.replace(b"\n\x01x", b"\n\x01z", 1)
        cases = [
            ("no file", "/no/such/model.onnx", "NoSuchFile"),
            ("no protobuf", b"garbage", "InvalidProtobuf"),
            ("nothing", b"", "InvalidArgument"),
            ("a name that nothing defines", undefined, "InvalidArgument"),
            ("no model at all", 3, "TypeError"),
        ]
        for label, given, expected in cases:
            for library in filter(None, (stead, onnxruntime)):
                self.assertEqual(outcome(lambda: library.InferenceSession(given)), expected, label)
        unknown = one_node("Nope", {"x": (TensorProto.FLOAT, [1])}, {"y": (TensorProto.FLOAT, [1])})
        with self.assertRaisesRegex(stead.capi.onnxruntime_pybind11_state.NotImplemented, "operator Nope"):
            stead.InferenceSession(unknown)

    def test_options_without_meaning_are_taken_and_others_refused_by_name(self):
        options = stead.SessionOptions()
        options.intra_op_num_threads = 2
        options.inter_op_num_threads = 1
        options.execution_mode = stead.ExecutionMode.ORT_PARALLEL
        options.enable_mem_pattern = False
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.assertEqual(options.get_session_config_entry("session.intra_op.allow_spinning"), "0")
        x = np.ones((1, 64), np.float32)
        expected = stead.InferenceSession(perceptron()).run(None, {"x": x})[0]
        for level in stead.GraphOptimizationLevel:
            options.graph_optimization_level = level
            session = stead.InferenceSession(perceptron(), options, providers=["CPUExecutionProvider"])
            self.assertIs(session.get_session_options(), options)
            np.testing.assert_allclose(session.run(None, {"x": x})[0], expected, rtol=1e-5)
        refused = [
            ("enable_profiling", lambda: setattr(options, "enable_profiling", True)),
            ("optimized_model_filepath", lambda: setattr(options, "optimized_model_filepath", "x.onnx")),
            ("register_custom_ops_library", lambda: options.register_custom_ops_library("x.so")),
            ("add_initializer", lambda: options.add_initializer("w", None)),
            ("session.no_such_entry", lambda: options.add_session_config_entry("session.no_such_entry", "1")),
            ("add_run_config_entry|memory", lambda: stead.RunOptions().add_run_config_entry("memory", "1")),
            ("run_async", lambda: session.run_async(None, {}, None, None)),
            ("end_profiling", lambda: session.end_profiling()),
            ("disabled_optimizers", lambda: stead.InferenceSession(perceptron(), disabled_optimizers=["x"])),
            ("device 'cuda'", lambda: stead.OrtValue.ortvalue_from_numpy(x, "cuda", 0)),
            ("set_seed", lambda: stead.set_seed(1)),
        ]
        for name, call in refused:
            with self.assertRaisesRegex(NotImplementedError, name):
                call()
        with self.assertRaises(ValueError):
            options.intra_op_num_threads = -1
        with self.assertRaises(AttributeError):
            options.no_such_option = 1
        with self.assertRaises(TypeError):
            stead.InferenceSession(perceptron(), {"intra_op_num_threads": 1})
        with self.assertWarnsRegex(UserWarning, "'CUDAExecutionProvider' is not in available provider names"):
            stead.InferenceSession(perceptron(), providers=["CUDAExecutionProvider", "CPUExecutionProvider"])

    @unittest.skipUnless(onnxruntime, "ONNX Runtime has no wheel for this Python")
    def test_no_name_of_the_api_is_missing(self):
        for ours, theirs in [
            (stead.InferenceSession, onnxruntime.InferenceSession),
            (stead.SessionOptions(), onnxruntime.SessionOptions()),
            (stead.RunOptions(), onnxruntime.RunOptions()),
            (stead.OrtValue, onnxruntime.OrtValue),
            (stead.IOBinding, onnxruntime.IOBinding),
        ]:
            names = {name for name in dir(theirs) if not name.startswith("_")}
            # Models that devices compile, and devices that they choose among.
            names = {name for name in names if "ep_context_data" not in name}
            self.assertEqual(names - set(dir(ours)), set(), theirs)
        options = [stead.SessionOptions(), onnxruntime.SessionOptions()]
        for name in dir(options[1]):
            if not name.startswith("_") and not callable(getattr(options[1], name)):
                values = [getattr(option, name) for option in options]
                self.assertEqual(*[int(v) if hasattr(v, "name") else v for v in values], name)

    def test_a_name_that_nobody_knows_is_no_attribute(self):
        self.assertFalse(hasattr(stead, "NoSuchThing"))
        self.assertTrue(callable(stead.Document))


class Bindings(unittest.TestCase):
    def test_bound_inputs_and_outputs(self):
        x = np.random.default_rng(3).normal(size=(5, 64)).astype(np.float32)
        expected = None
        for library in filter(None, (stead, onnxruntime)):
            session = library.InferenceSession(perceptron())
            place = np.zeros((5, 3), np.float32)
            value = library.OrtValue.ortvalue_from_shape_and_type([5, 3], np.float32)
            binding = session.io_binding()
            binding.bind_cpu_input("x", x)
            binding.bind_output("p", "cpu", 0, np.float32, place.shape, place.ctypes.data)
            binding.bind_ortvalue_output("logits", value)
            session.run_with_iobinding(binding)
            results = binding.copy_outputs_to_cpu()
            np.testing.assert_array_equal(results[0], place)
            np.testing.assert_array_equal(results[1], value.numpy())
            self.assertEqual([v.shape() for v in binding.get_outputs()], [[5, 3], [5, 3]])
            expected = results if expected is None else expected
            for mine, other in zip(expected, results):
                np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6)
            binding.clear_binding_outputs()
            binding.bind_input("x", "cpu", 0, np.float32, [2, 64], x.ctypes.data)
            binding.bind_output("p")
            session.run_with_iobinding(binding)
            np.testing.assert_allclose(binding.copy_outputs_to_cpu()[0], place[:2], rtol=1e-5)

    def test_values(self):
        for library in filter(None, (stead, onnxruntime)):
            array = np.arange(6, dtype=np.float32).reshape(2, 3)
            value = library.OrtValue.ortvalue_from_numpy(array)
            told = (value.shape(), value.data_type(), value.element_type(), value.device_name().lower())
            self.assertEqual(told, ([2, 3], "tensor(float)", 1, "cpu"))
            self.assertEqual((value.is_tensor(), value.has_value(), value.tensor_size_in_bytes()), (True, True, 24))
            self.assertEqual(value.data_ptr(), array.ctypes.data)
            value.update_inplace(array + 1)
            self.assertEqual(value.numpy().tolist(), [[1, 2, 3], [4, 5, 6]])
            bits = np.array([0x3F80, 0x4000], np.uint16)
            value = library.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, TensorProto.BFLOAT16)
            self.assertEqual(value.element_type(), TensorProto.BFLOAT16)
            session = library.InferenceSession(
                one_node("Cast", {"x": (TensorProto.BFLOAT16, [2])}, {"y": (TensorProto.FLOAT, [2])}, to=TensorProto.FLOAT)
            )
            (y,) = session.run_with_ort_values(["y"], {"x": value})
            self.assertEqual(y.numpy().tolist(), [1, 2])


class Example(unittest.TestCase):
    def test_the_example_says_what_its_page_says(self):
        folder = os.path.join(os.environ["STEAD_EXAMPLES"], "python-inference")
        command = [sys.executable, os.path.join(folder, "rank.py")]
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
        with open(os.path.join(folder, "README.md")) as page:
            self.assertIn(ran.stdout.strip(), page.read())


if __name__ == "__main__":
    warnings.simplefilter("error")
    unittest.main()
