"""Stateful models over TensorFlow Serving's API: OpenVINO Model Server's documentation run as it is, and those of its test
scenarios that are about the wire, by their names.

The rest of its scenarios stands elsewhere, under the same names: the table (SequenceManager, Sequence) in crates/sequence, the
node (cleaner races, 60 threads) in crates/node, encodings and texts of errors in crates/server/tests/sequences.rs.
"""

# Scenarios of OpenVINO Model Server that are not re-created, or end differently here.
EXCEPTIONS = {
    "statefulInferSequenceEndTimeout": "an END that failed leaves the sequence active, not terminated for ever",
    "statefulInferManagerMutexTest": "no lock is held over a run, so the cleaner never waits for one",
    "batch_size auto, shape auto": "free dimensions are fixed per sequence at START; `ovms_compat` restores the refusal",
    "model in a pipeline": "stateful models may be nodes of pipelines",
    "reload": "limits change in place and sequences live on; OpenVINO Model Server drops them",
    "KServe on a stateful model": "is served, not refused",
    "row format": "is served, with one value or the same value in each row",
    "tensor_content, int64_val": "every encoding of the number is read; only what is no number is refused",
    "UpdateSequenceState": "a state is a tensor that nobody can change; there is no copy to test",
    "rm_lstm4f, aspire_tdnn": "are Kaldi models, which have no ONNX form; silero stands for recurrent models",
}

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import types
import unittest

import grpc
import numpy as np
import requests

from served import BINARY, ROOT, SUMMATOR, ServedCase, Stead, free_port, stateful_config
from silero_cases import SileroCase
from tfs_messages import make_ndarray, make_tensor_proto
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

DOCUMENTATION = os.path.join(ROOT, "tests", "data", "ovms")
START, END = 1, 2


def read(name):
    with open(os.path.join(DOCUMENTATION, name)) as file:
        return file.read()


def is_free(port):
    import socket

    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return s.connect_ex(("127.0.0.1", port)) != 0


class PortlessAdapter(requests.adapters.HTTPAdapter):
    """The listing posts to `localhost:5555/...`, which `requests` refuses for want of a scheme."""

    def send(self, request, **options):
        request.url = "http://" + request.url
        return super().send(request, **options)


class Documentation(unittest.TestCase):
    """The command lines, the configuration and the listings, on the ports that they name."""

    def setUp(self):
        for port in (9000, 5555):
            if not is_free(port):
                self.skipTest(f"port {port}, which the documentation names, is taken")
        self.folder = tempfile.mkdtemp(prefix="stead-ovms-")
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copytree(SUMMATOR, os.path.join(self.folder, "stateful_model"))

    def serve(self, line, rest=None):
        # The container's folder `/models` is a folder of this test.
        arguments = line.replace("/models/", self.folder + "/").split()
        server = Stead(*arguments, grpc=9000, rest=rest)
        self.addCleanup(server.stop)
        return server

    def test_command_lines_and_configuration(self):
        with open(os.path.join(self.folder, "config.json"), "w") as file:
            file.write(read("config.json").replace("/models/", self.folder + "/"))
        for line in read("command_line.txt").splitlines():
            with self.subTest(line):
                server = self.serve(line)
                channel = grpc.insecure_channel("localhost:9000")
                stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
                answer = predict(stub, "rm_lstm4f", 2.0, id=7, control=START)
                self.assertEqual(answer.outputs["sequence_id"].uint64_val[0], 7)
                self.assertEqual(value(predict(stub, "rm_lstm4f", 3.0, id=7)), 5.0)
                channel.close()
                self.assertEqual(server.stop(), 0)

    def sections(self, listing):
        """Each of the four kinds of request as a whole program: what stands before, the section, what stands behind."""
        before, rest = listing.split('"""\nAdd inputs with data to infer\n"""')
        kinds = re.split(r"^#{4,} +(.*?) +#{4,}\n", rest, flags=re.M)
        titles, bodies = kinds[1::2], kinds[2::2]
        self.assertEqual(titles[0], "Add stateful specific inputs")
        last, behind = re.split(r"^(?:#{60,}\n\n?# Send|# Prepare)", bodies[-1], maxsplit=1, flags=re.M)
        bodies[-1] = last
        behind = "#" + behind
        return {t: (before, body, behind) for t, body in zip(titles[1:], bodies[1:])}

    def check(self, listing, add_inputs, answers):
        sections = self.sections(listing)
        self.assertEqual(len(sections), 4)
        order = [
            ("Starting sequence with custom ID", 10),
            ("Non control requests", 10),
            ("Ending sequence", 10),
            ("Starting sequence without ID", None),
        ]
        for step, (title, expected) in enumerate(order):
            before, section, behind = sections[title]
            scope = {}
            exec(before, scope)
            add_inputs(scope)
            exec(section, scope)
            exec(behind, scope)
            number = scope["sequence_id"]
            number = number[0] if isinstance(number, list) else number
            self.assertTrue(number == expected if expected else number > 0, title)
            self.assertEqual(answers(scope), [1.0, 2.0, 3.0, 1.0][step], title)

    def test_python_listing_for_grpc(self):
        self.serve("--model_path /models/stateful_model --model_name stateful_model --stateful --port 9000")
        stub = types.ModuleType("tensorflow")
        stub.make_tensor_proto, stub.make_ndarray = make_tensor_proto, make_ndarray
        stub.expand_dims = np.expand_dims
        known = sys.modules.get("tensorflow")
        sys.modules["tensorflow"] = stub
        self.addCleanup(sys.modules.__setitem__, "tensorflow", known)
        listing = read("stateful_grpc.txt")
        add = lambda scope: scope["request"].inputs["b"].CopyFrom(make_tensor_proto([[1.0]]))
        self.check(listing, add, lambda scope: value(scope["response"]))

    def test_python_listing_for_rest(self):
        self.serve("--model_path /models/stateful_model --model_name stateful_model --stateful --port 9000", rest=5555)
        init = requests.Session.__init__

        def with_adapter(session):
            init(session)
            session.mount("localhost:", PortlessAdapter())

        requests.Session.__init__ = with_adapter
        self.addCleanup(setattr, requests.Session, "__init__", init)
        add = lambda scope: scope["inputs"].__setitem__("b", [[1.0]])
        self.check(read("stateful_rest.txt"), add, lambda scope: scope["response_body"]["outputs"]["y"][0][0])


def predict(stub, model, data, id=None, control=None, **more):
    request = predict_pb2.PredictRequest()
    request.model_spec.name = model
    if data is not None:
        request.inputs["b"].CopyFrom(make_tensor_proto([[data]]))
    if id is not None:
        request.inputs["sequence_id"].CopyFrom(make_tensor_proto([id], "uint64"))
    if control is not None:
        request.inputs["sequence_control_input"].CopyFrom(make_tensor_proto([control], "uint32"))
    for name, proto in more.items():
        request.inputs[name].CopyFrom(proto)
    return stub.Predict(request, timeout=60)


def value(answer):
    return make_ndarray(answer.outputs["y"])[0, 0]


class Scenarios(ServedCase):
    @classmethod
    def start(cls):
        return Stead("--config_path", cls.config(44), "--file_system_poll_wait_seconds", "0")

    @classmethod
    def config(cls, limit, **keys):
        counter = {"sequence_ids": "counter"}
        models = {
            "dummy": (SUMMATOR, counter, {}),
            "limited": (SUMMATOR, counter, {"max_sequence_number": limit}),
            "five": (SUMMATOR, counter, {"max_sequence_number": 5}),
            "kind": (SUMMATOR, {}, keys),
        }
        return stateful_config(cls.folder, models)

    def setUp(self):
        self.channel = grpc.insecure_channel(self.server.grpc)
        self.addCleanup(self.channel.close)
        self.stub = prediction_service_pb2_grpc.PredictionServiceStub(self.channel)

    def predict(self, data, model="dummy", **options):
        return value(predict(self.stub, model, data, **options))

    def fails(self, code, text, *args, **options):
        with self.assertRaises(grpc.RpcError) as caught:
            self.predict(*args, **options)
        self.assertEqual((caught.exception.code().name, caught.exception.details()), (code, text))

    def rest(self, model, body, status=200):
        answer = requests.post(f"http://{self.server.rest}/v1/models/{model}:predict", json=body, timeout=60)
        self.assertEqual(answer.status_code, status, answer.text)
        return answer.json()

    def test_StandardFlow(self):
        self.assertEqual(self.predict(1.0, id=1001, control=START), 1.0)
        self.assertEqual(self.predict(2.0, id=1001), 3.0)
        answer = predict(self.stub, "dummy", 3.0, id=1001, control=END)
        self.assertEqual((value(answer), list(answer.outputs["sequence_id"].uint64_val)), (6.0, [1001]))
        self.fails("NOT_FOUND", "Sequence with provided ID does not exist", 1.0, id=1001)

    def test_SequenceMissing_IdNotProvided_IdAlreadyExists(self):
        missing, not_provided = "Sequence with provided ID does not exist", "Sequence ID has not been provided in request inputs"
        self.fails("NOT_FOUND", missing, 1.0, id=999)
        self.fails("NOT_FOUND", missing, 1.0, id=999, control=END)
        self.fails("INVALID_ARGUMENT", not_provided, 1.0)
        self.fails("INVALID_ARGUMENT", not_provided, 1.0, control=END)
        self.fails("INVALID_ARGUMENT", not_provided, 1.0, id=0, control=0)
        self.fails("INVALID_ARGUMENT", not_provided, 1.0, sequenceid=make_tensor_proto([5], "uint64"))
        self.fails("INVALID_ARGUMENT", "Unexpected value of sequence control input", 1.0, id=5, control=999)
        self.predict(1.0, id=1002, control=START)
        self.fails("ALREADY_EXISTS", "Sequence with provided ID already exists", 1.0, id=1002, control=START)
        self.assertEqual(self.predict(1.0, id=1002, control=END), 2.0)

    def test_statefulInferMultipleInferences(self):
        self.predict(1.0, id=1003, control=START)
        for i in range(100):
            self.assertEqual(self.predict(1.0, id=1003), i + 2.0)
        self.assertEqual(self.predict(1.0, id=1003, control=END), 102.0)

    def test_statefulInferMultipleThreads(self):
        failed = []

        def sequence(number):
            try:
                total = 0.0
                for i in range(25):
                    data, control = float(number + i), START if i == 0 else END if i == 24 else 0
                    total += data
                    self.assertEqual(self.predict(data, id=2000 + number, control=control), total)
            except Exception as error:  # told by the thread that waits
                failed.append(error)

        threads = [threading.Thread(target=sequence, args=(n,)) for n in range(60)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.assertEqual(failed, [])

    def test_ExceedMaxSequenceNumber_and_automatic_ids(self):
        for i in range(1, 6):
            answer = predict(self.stub, "five", 1.0, control=START)
            self.assertEqual(list(answer.outputs["sequence_id"].uint64_val), [i])
        text = "Max sequence number has been reached. Could not create new sequence."
        self.fails("UNAVAILABLE", text, 1.0, "five", control=START)
        full = {"inputs": {"b": [[1]], "sequence_control_input": [1]}}
        self.assertEqual(self.rest("five", full, 503), {"error": text})
        self.fails("UNAVAILABLE", text, 1.0, "five", id=3, control=START)  # before it is looked for
        self.predict(1.0, "five", id=2, control=END)
        answer = predict(self.stub, "five", 1.0, control=START)
        self.assertEqual(list(answer.outputs["sequence_id"].uint64_val), [6])

    def test_reload_max_sequence_number(self):
        """loadModel and reload: 44, then 11; sequences live on (see EXCEPTIONS)."""
        for i in range(20):
            self.predict(1.0, "limited", id=i + 1, control=START)
        self.config(11)
        reload = requests.post(f"http://{self.server.rest}/v1/config/reload", timeout=60)
        self.assertIn(reload.status_code, (200, 201), reload.text)
        self.fails("UNAVAILABLE", "Max sequence number has been reached. Could not create new sequence.", 1.0, "limited", id=50, control=START)
        self.assertEqual(self.predict(1.0, "limited", id=20), 2.0)

    def test_stateful_to_stateless_is_refused_at_run_time(self):
        self.predict(1.0, "kind", id=1, control=START)
        self.config(44, stateful=False, stead={})
        reload = requests.post(f"http://{self.server.rest}/v1/config/reload", timeout=60)
        self.config(44)
        self.assertGreaterEqual(reload.status_code, 400, reload.text)
        self.assertEqual(self.predict(1.0, "kind", id=1, control=END), 2.0)
        requests.post(f"http://{self.server.rest}/v1/config/reload", timeout=60)

    def test_command_line_needs_stateful(self):
        for flag in ("--low_latency_transformation", "--max_sequence_number 5", "--idle_sequence_cleanup=false"):
            with self.subTest(flag):
                line = f"--model_path {SUMMATOR} --model_name m --port {free_port()} {flag}"
                result = subprocess.run([BINARY, *line.split()], capture_output=True, text=True, timeout=60)
                self.assertEqual(result.returncode, 64, result.stderr)
                self.assertIn("require setting stateful flag", result.stderr)

    def test_ids_at_the_ends_of_their_range(self):
        for id in (1, 2**63, 2**64 - 1):
            with self.subTest(id):
                self.assertEqual(self.predict(1.0, id=id, control=START), 1.0)
                answer = self.rest("dummy", {"inputs": {"b": [[1]], "sequence_id": [id]}})
                self.assertEqual(answer, {"outputs": {"y": [[2.0]], "sequence_id": [id]}})
                answer = predict(self.stub, "dummy", 1.0, id=id, control=END)
                self.assertEqual((value(answer), answer.outputs["sequence_id"].uint64_val[0]), (3.0, id))

    def test_rest_column_and_row(self):
        start = {"inputs": {"b": [[1]], "sequence_id": [70], "sequence_control_input": [1]}}
        self.assertEqual(self.rest("dummy", start), {"outputs": {"y": [[1.0]], "sequence_id": [70]}})
        row = {"instances": [{"b": [2], "sequence_id": 70}]}
        self.assertEqual(self.rest("dummy", row), {"predictions": [{"y": [3.0], "sequence_id": 70}]})
        self.assertIn("already exists", self.rest("dummy", start, 409)["error"])
        end = {"inputs": {"b": [[1]], "sequence_id": [70], "sequence_control_input": [2]}}
        self.assertEqual(self.rest("dummy", end)["outputs"]["y"], [[4.0]])
        self.assertIn("does not exist", self.rest("dummy", end, 404)["error"])


class Silero(SileroCase):
    def test_grpc(self):
        stub = prediction_service_pb2_grpc.PredictionServiceStub(grpc.insecure_channel(self.server.grpc))

        def step(id, start, end, samples):
            request = predict_pb2.PredictRequest()
            request.model_spec.name = "vad"
            request.inputs["input"].CopyFrom(make_tensor_proto(samples[None]))
            request.inputs["sequence_id"].CopyFrom(make_tensor_proto([id], "uint64"))
            control = START if start else END if end else 0
            request.inputs["sequence_control_input"].CopyFrom(make_tensor_proto([control], "uint32"))
            return make_ndarray(stub.Predict(request, timeout=60).outputs["output"]).item()

        self.reference.check(self, step)

    def test_rest(self):
        session = requests.Session()

        def step(id, start, end, samples):
            control = START if start else END if end else 0
            inputs = {"input": [samples.tolist()], "sequence_id": [id], "sequence_control_input": [control]}
            answer = session.post(f"http://{self.server.rest}/v1/models/vad:predict", data=json.dumps({"inputs": inputs}), timeout=60)
            self.assertEqual(answer.status_code, 200, answer.text)
            return answer.json()["outputs"]["output"][0][0]

        self.reference.check(self, step)
