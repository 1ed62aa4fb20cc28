"""examples/voice-activity as its README says, and the same model over tritonclient against reference outputs."""

import json
import os
import unittest

import numpy as np
import tritonclient.grpc as grpc
import tritonclient.http as http
from served import ROOT, ExampleCase

REFERENCE = os.path.join(ROOT, "tests", "data", "silero", "silero_ref.npz")
NAMES = ("speech16k", "speech16k_b", "tones16k", "noise16k")
CHUNK = 512
SWAPPED = {"speech16k": "noise16k", "noise16k": "speech16k"}


class VoiceActivity(ExampleCase):
    example = "voice-activity"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.reference = np.load(REFERENCE)

    def expected(self, name):
        return self.reference[f"silero_vad_openvino_16k/{name}/prob"].ravel()

    def chunks(self, name):
        signal = self.reference[f"sig/{name}"]
        padded = np.zeros(-(-len(signal) // CHUNK) * CHUNK, np.float32)
        padded[: len(signal)] = signal
        return padded.reshape(-1, 1, CHUNK)

    def test_the_example_draws_where_speech_is(self):
        drawing = self.client()
        for line in ("speech from 0.32 s to 1.98 s", "speech from 2.62 s to 4.19 s", "speech from 4.90 s to 5.76 s"):
            self.assertIn(line, drawing)
        self.assertIn("188 steps in", drawing)
        self.assertIn("  3.20 s |\u2588", drawing)

    def test_the_example_gives_the_reference_probabilities(self):
        lines = [line.split() for line in self.client("--text").splitlines()]
        got = np.array([float(probability) for _, probability in lines])
        # The file has 16 bits, the reference was made from floats.
        np.testing.assert_allclose(got, self.expected("speech16k"), atol=0.01)

    def test_the_example_leaves_no_sequence(self):
        self.client()
        status, _, body = self.server.request("GET", "/v2/models/vad/sequences")
        self.assertEqual((status, json.loads(body)["sequences"]), (200, []))

    def interleaved(self, step, drop_state=False, swap=False):
        """The largest difference from the reference when four signals take turns."""
        chunks = {name: self.chunks(name) for name in NAMES}
        worst = 0.0
        for index in range(max(map(len, chunks.values()))):
            for name in (n for n in NAMES if index < len(chunks[n])):
                other = SWAPPED.get(name, name) if swap and 20 <= index < 30 else name
                start = index == 0 or drop_state
                end = index + 1 == len(chunks[name])
                probability = step(f"{step.__name__}-{other}", chunks[name][index], start, end)
                worst = max(worst, abs(probability - self.expected(name)[index]))
        return worst

    def http_step(self, sequence, chunk, start, end):
        tensor = http.InferInput("input", chunk.shape, "FP32")
        tensor.set_data_from_numpy(chunk)
        result = self.http.infer("vad", [tensor], sequence_id=sequence, sequence_start=start, sequence_end=end)
        return result.as_numpy("output")[0, 0]

    def grpc_step(self, sequence, chunk, start, end):
        tensor = grpc.InferInput("input", chunk.shape, "FP32")
        tensor.set_data_from_numpy(chunk)
        result = self.grpc.infer("vad", [tensor], sequence_id=sequence, sequence_start=start, sequence_end=end)
        return result.as_numpy("output")[0, 0]

    def setUp(self):
        self.http = http.InferenceServerClient(self.server.rest)
        self.grpc = grpc.InferenceServerClient(self.server.grpc)
        self.addCleanup(self.http.close)
        self.addCleanup(self.grpc.close)

    def test_interleaved_sequences_equal_the_reference(self):
        for step in (self.http_step, self.grpc_step):
            with self.subTest(step.__name__):
                self.assertLessEqual(self.interleaved(step), 1e-5)

    def test_a_lost_or_swapped_state_would_be_seen(self):
        step = 0

        def fresh(sequence, chunk, start, end):
            nonlocal step
            step += 1
            return self.grpc_step(f"{sequence}-{step}", chunk, True, True)

        self.assertGreater(self.interleaved(fresh), 0.1, "state dropped")
        self.assertGreater(self.interleaved(self.grpc_step, swap=True), 0.1, "state swapped")


if __name__ == "__main__":
    unittest.main()
