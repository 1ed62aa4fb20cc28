"""Sequences with tritonclient: Triton's QA scenarios by name, and silero through each of its protocols."""

# Scenarios of Triton that are not re-created, or end differently here.
EXCEPTIONS = {
    "batch_size": "a batch above 1 within one sequence works",
    "backlog, backlog_fill, backlog_fill_no_end, backlog_same_correlation_id, backlog_same_correlation_id_no_end, "
    "backlog_sequence_timeout, L0_sequence_corrid_batcher": "there are no slots: a sequence beyond the limit is refused at once, not queued",
    "half_batch, skip_batch, full_batch, ragged_batch, queue_delay_no_min_util, queue_delay_half_min_util, queue_delay_full_min_util": "belong to the direct strategy, whose slots do not exist; "
    "whatever the batches are, answers are checked in `stress` and `dyna`",
    "request_timeout, send_request_after_timeout": "a late step has no effect; the sequence goes on (Triton ends it)",
    "L0_request_cancellation": "re-created, but a cancelled step has no effect and the sequence goes on (Triton cancels it)",
    "L0_implicit_state, L0_dyna_implicit_state": "growing states stand in crates/node/tests/growing.rs; states are no outputs; wrong names are refused when the model is loaded",
    "preserve_ordering": "answers of one sequence are always in order, see test_streams_with_mixed_sequences",
    "L0_long_running_stress": "cargo xtask soak",
    "L0_memory_growth": "crates/node/tests/steady_memory.rs, and a million sequences in crates/sequence/src/table/tests.rs",
    "L0_lifecycle": "crates/node/src/tests/reload.rs, crates/server/tests/draining.rs and lifecycle.rs",
    "L0_http_fuzz": "crates/server/tests/hostile.rs, fuzz/",
    "L0_input_validation": "the recorded requests of crates/server/tests/triton_http.rs and triton_grpc.rs",
    "L0_iterative_sequence": "a model cannot schedule its own request again",
}

import os
import queue
import random
import subprocess
import sys
import threading
import time

import numpy as np
import tritonclient.grpc
import tritonclient.http
from tritonclient.utils import InferenceServerException

from served import SUMMATOR, ServedCase, Stead, stateful_config
from silero_cases import SileroCase


class Sequences:
    """What both clients must see."""

    client = None

    @classmethod
    def start(cls):
        compat = {"triton_compat": True, "max_batch_size": 8, "max_queue_delay_microseconds": 500}
        models = {
            "custom": (SUMMATOR, compat, {}),
            "idle": (SUMMATOR, {**compat, "sequence_idle_timeout_ms": 50}, {}),
            "ovms": (SUMMATOR, {}, {}),
            # Steps may wait this long for others to join them, so that there is time to go away.
            "slow": (SUMMATOR, {"triton_compat": True, "max_batch_size": 8, "max_queue_delay_microseconds": 50_000}, {}),
        }
        return Stead("--config_path", stateful_config(cls.folder, models))

    def setUp(self):
        self.triton = self.connect()
        self.addCleanup(self.triton.close)

    def input(self, *values):
        tensor = self.client.InferInput("b", [len(values), 1], "FP32")
        tensor.set_data_from_numpy(np.array(values, np.float32)[:, None])
        return [tensor]

    def step(self, id, value, start=False, end=False, model="custom", triton=None, **options):
        client = triton or self.triton
        result = client.infer(model, self.input(value), sequence_id=id, sequence_start=start, sequence_end=end, **options)
        return result.as_numpy("y").item()

    def fails(self, text, *args, **options):
        with self.assertRaises(InferenceServerException) as caught:
            self.step(*args, **options)
        self.assertIn(text, str(caught.exception))

    def test_simple_sequence(self):
        total = 0.0
        for i, value in enumerate(range(1, 10)):
            total += value
            self.assertEqual(self.step(5, value, i == 0, i == 8), total)

    def test_length1_sequence(self):
        self.assertEqual(self.step(99, 42, True, True), 42)
        self.fails("must specify the START flag", 99, 1)

    def test_batch_size(self):
        tensor = self.input(1, 2)
        for total, flags in ((1, {"sequence_start": True}), (2, {"sequence_end": True})):
            result = self.triton.infer("custom", tensor, sequence_id=27, **flags)
            np.testing.assert_array_equal(result.as_numpy("y"), [[total], [2 * total]])

    def test_no_correlation_id(self):
        with self.assertRaises(InferenceServerException) as caught:
            self.triton.infer("custom", self.input(1))
        self.assertIn("must specify a non-zero or non-empty correlation ID", str(caught.exception))

    def test_no_sequence_start(self):
        self.fails("must specify the START flag", 37469245, 1)
        self.fails("must specify the START flag", 37469245, 1, end=True)

    def test_no_sequence_start2(self):
        self.assertEqual(self.step(3, 1, True), 1)
        self.assertEqual(self.step(3, 2, end=True), 3)
        self.fails("must specify the START flag", 3, 2)
        self.assertEqual(self.step(3, 5, True, True), 5)

    def test_no_sequence_end(self):
        """A START of a sequence that lives begins it anew."""
        self.assertEqual(self.step(566, 1, True), 1)
        self.assertEqual(self.step(566, 9), 10)
        self.assertEqual(self.step(566, 2, True), 2)
        self.assertEqual(self.step(566, 3, end=True), 5)

    def test_string_ids(self):
        self.assertEqual(self.step("call-7", 1, True), 1)
        self.assertEqual(self.step("call-8", 5, True), 5)
        self.assertEqual(self.step("call-7", 1, end=True), 2)
        self.assertEqual(self.step("call-8", 1, end=True), 6)
        self.fails("", "x" * (1 << 20), 1, start=True)

    def test_ids_at_the_ends_of_their_range(self):
        for id in (1, 2**63 - 1):
            self.assertEqual(self.step(id, 1, True), 1)
            self.assertEqual(self.step(id, 1, end=True), 2)

    def test_idle_sequences_end(self):
        self.assertEqual(self.step(7, 1, True, model="idle"), 1)
        time.sleep(0.5)
        self.fails("must specify the START flag", 7, 1, model="idle")

    def test_rules_of_openvino_model_server(self):
        self.assertEqual(self.step(8, 1, True, model="ovms"), 1)
        self.fails("already exists", 8, 1, True, model="ovms")
        self.fails("does not exist", 9, 1, model="ovms")
        result = self.triton.infer("ovms", self.input(3), sequence_id=8, sequence_end=True)
        parameters = result.get_response()
        parameters = parameters["parameters"] if isinstance(parameters, dict) else parameters.parameters
        self.assertEqual(set(parameters), {"sequence_id", "sequence_step"})

    def test_failed_steps_change_nothing(self):
        self.assertEqual(self.step(11, 1, True), 1)
        wrong = self.client.InferInput("b", [1, 2], "FP32")
        wrong.set_data_from_numpy(np.ones((1, 2), np.float32))
        for flags in ({}, {"sequence_end": True}, {"sequence_start": True}):
            with self.assertRaises(InferenceServerException):
                self.triton.infer("custom", [wrong], sequence_id=11, **flags)
        self.assertEqual(self.step(11, 1, end=True), 2)

    def test_stress(self):
        """L0_sequence_stress and L0_dyna_sequence_batcher: clients with a seeded mix of valid sequences, of ones without an
        end and of ones without a start, of mixed lengths; each answer is checked."""
        failed = []

        def play(number):
            rng, triton = random.Random(number), self.connect()
            try:
                for sequence in range(8):
                    id = 10_000 + number
                    kind = rng.choice(("valid", "valid", "no end", "no start"))
                    length, total = rng.randrange(1, 12), 0.0
                    if kind == "no start":
                        self.step(id, 0, True, True, triton=triton)
                        self.fails("must specify the START flag", id, 1, triton=triton)
                        continue
                    for i in range(length):
                        value = rng.randrange(100)
                        total += value
                        end = i == length - 1 and kind == "valid"
                        self.assertEqual(self.step(id, value, i == 0, end, triton=triton), total)
            except Exception as error:  # told by the thread that waits
                failed.append(error)
            finally:
                triton.close()

        threads = [threading.Thread(target=play, args=(n,)) for n in range(12)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.assertEqual(failed, [])

    def test_config(self):
        config = self.triton.get_model_config("idle")
        if self.client is tritonclient.http:
            batching = config["sequence_batching"]
            self.assertEqual(batching["max_sequence_idle_microseconds"], 50_000)
            self.assertEqual(batching["oldest"]["max_candidate_sequences"], 500)
        else:
            self.assertEqual(config.config.sequence_batching.max_sequence_idle_microseconds, 50_000)


class Http(Sequences, ServedCase):
    client = tritonclient.http

    def connect(self):
        return self.client.InferenceServerClient(self.server.rest)


class Grpc(Sequences, ServedCase):
    client = tritonclient.grpc

    def connect(self):
        return self.client.InferenceServerClient(self.server.grpc)

    def test_streams_with_mixed_sequences(self):
        answers = queue.Queue()
        self.triton.start_stream(lambda result, error: answers.put((result, error)))
        sequences, steps, expected = range(1, 41), 25, {}
        for i in range(steps):
            for n in sequences:
                expected[f"{n} {i}"] = sum(n * 100 + k for k in range(i + 1))
                self.triton.async_stream_infer(
                    "custom", self.input(n * 100 + i), request_id=f"{n} {i}", sequence_id=5_000 + n,
                    sequence_start=i == 0, sequence_end=i == steps - 1,
                )
                if i == 3 and n % 5 == 0:  # one without a START, of a sequence of its own
                    self.triton.async_stream_infer("custom", self.input(1), request_id="wrong", sequence_id=9_000 + n)
        seen, errors = {n: [] for n in sequences}, 0
        for _ in range(len(expected) + 8):
            result, error = answers.get(timeout=60)
            if error is not None:
                errors += 1
                self.assertIn("START", str(error))
                continue
            id = result.get_response().id
            self.assertEqual(result.as_numpy("y").item(), expected[id], id)
            number, i = map(int, id.split())
            seen[number].append(i)
        self.triton.stop_stream()
        self.assertEqual(errors, 8)
        for order in seen.values():
            self.assertEqual(order, list(range(steps)))

    def test_a_sequence_outlives_its_stream(self):
        answers = queue.Queue()
        self.triton.start_stream(lambda result, error: answers.put((result, error)))
        self.triton.async_stream_infer("custom", self.input(4), sequence_id=300, sequence_start=True)
        self.assertIsNone(answers.get(timeout=60)[1])
        self.triton.stop_stream(cancel_requests=True)
        self.assertEqual(self.step(300, 3, end=True), 7)

    def test_L0_request_cancellation(self):
        """Steps that are cancelled while they wait have no effect, those that were answered have theirs, and none has half of
        one; what comes behind them goes on from there."""
        own, answered, sent = self.step(400, 1, True, model="slow"), [], 0

        def told(result, error):
            answered.append(error is None)
            over.release()

        for value in range(2, 8):
            over = threading.Semaphore(0)
            calls = [self.triton.async_infer("slow", self.input(1000), told, sequence_id=400) for _ in range(40)]
            [call.cancel() for call in calls]
            [over.acquire(timeout=60) for _ in calls]
            own, sent = own + value, sent + len(calls)
            # The client knows at once that it has given up; the server may hear of it behind later requests.
            done, rest = divmod(self.step(400, value, model="slow") - own, 1000)
            self.assertEqual((rest, sum(answered) <= done <= sent), (0, True), (done, sum(answered), sent))
        self.nothing_is_in_flight()
        self.assertEqual((self.step(400, 1, end=True, model="slow") - own - 1) % 1000, 0)

    def test_L0_grpc_state_cleanup(self):
        """Clients are killed in the middle of their streams, with requests in flight: the server goes on, nothing is left in
        flight, and their sequences can be gone on with."""
        for base in (600, 700):
            client = subprocess.Popen(
                [sys.executable, "-c", ENDLESS_STREAM, self.server.grpc, str(base)], stdout=subprocess.PIPE, text=True
            )
            self.addCleanup(client.stdout.close)
            self.assertEqual(client.stdout.readline(), "streaming\n")
            client.kill()
            client.wait(timeout=60)
            self.nothing_is_in_flight()
            for id in range(base, base + 20):
                # Steps of 1: the sum is the number of those that were done.
                before = self.step(id, 0, model="slow" if id % 2 else "custom")
                self.assertGreaterEqual(before, 1)
                self.assertEqual(self.step(id, 2, end=True, model="slow" if id % 2 else "custom"), before + 2)
        self.assertTrue(self.triton.is_server_ready())

    def nothing_is_in_flight(self):
        gauges = ("ovms_current_requests", "stead_queue_depth", "stead_sequence_waiting")
        until = time.monotonic() + 20
        while True:
            _, _, page = self.server.request("GET", "/metrics")
            lines = [line for line in page.decode().splitlines() if line.startswith(gauges)]
            busy = [line for line in lines if not line.endswith(" 0")]
            if not busy:
                self.assertGreater(len(lines), 0)
                return
            self.assertLess(time.monotonic(), until, busy)
            time.sleep(0.01)


# What is killed: twenty sequences of two models on one stream, as many requests as it takes.
ENDLESS_STREAM = """
import sys, threading
import numpy as np
import tritonclient.grpc as grpc

base, answered = int(sys.argv[2]), threading.Semaphore(0)
client = grpc.InferenceServerClient(sys.argv[1])
client.start_stream(lambda result, error: answered.release())
tensor = grpc.InferInput("b", [1, 1], "FP32")
tensor.set_data_from_numpy(np.ones((1, 1), np.float32))
step = 0
while True:
    for id in range(base, base + 20):
        model = "slow" if id % 2 else "custom"
        client.async_stream_infer(model, [tensor], sequence_id=id, sequence_start=step == 0)
    if step == 0:
        [answered.acquire() for _ in range(20)]
    step += 1
    if step == 20:
        print("streaming", flush=True)
"""


class Silero(SileroCase):
    def by_infer(self, client, triton):
        self.addCleanup(triton.close)

        def step(id, start, end, samples):
            tensor = client.InferInput("input", [1, len(samples)], "FP32")
            tensor.set_data_from_numpy(samples[None])
            result = triton.infer("vad", [tensor], sequence_id=id, sequence_start=start, sequence_end=end)
            return result.as_numpy("output").item()

        self.reference.check(self, step)

    def test_http(self):
        self.by_infer(tritonclient.http, tritonclient.http.InferenceServerClient(self.server.rest))

    def test_grpc(self):
        self.by_infer(tritonclient.grpc, tritonclient.grpc.InferenceServerClient(self.server.grpc))

    def test_stream(self):
        """All frames of all signals in flight at once."""
        triton = tritonclient.grpc.InferenceServerClient(self.server.grpc)
        self.addCleanup(triton.close)
        answers, reference = queue.Queue(), self.reference
        triton.start_stream(lambda result, error: answers.put((result, error)))

        def play(base, id_of):
            count, worst = 0, 0.0
            for signal, number, frame in reference.steps():
                samples = reference.frames[signal][frame]
                tensor = tritonclient.grpc.InferInput("input", [1, len(samples)], "FP32")
                tensor.set_data_from_numpy(samples[None])
                triton.async_stream_infer(
                    "vad", [tensor], request_id=f"{signal} {frame}", sequence_id=base + id_of(number, frame),
                    sequence_start=frame == 0, sequence_end=frame == len(reference.frames[signal]) - 1,
                )
                count += 1
            for _ in range(count):
                result, error = answers.get(timeout=60)
                self.assertIsNone(error)
                signal, frame = result.get_response().id.split()
                got, expected = result.as_numpy("output").item(), reference.expected[signal][int(frame)]
                worst = max(worst, abs(got - expected))
            return worst

        self.assertLessEqual(play(7_000_000, lambda n, frame: n), 1e-5)
        other = {1: 3, 3: 1}
        swapped = play(8_000_000, lambda n, frame: other.get(n, n) if frame >= 30 else n)
        self.assertGreater(swapped, 0.1)
        triton.stop_stream()


del Sequences
