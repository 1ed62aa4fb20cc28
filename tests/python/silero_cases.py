"""Signals that travel interleaved, each as a sequence of its own, and what silero-vad says to them."""

import os

import numpy as np

from served import ROOT, VOICE, ServedCase, Stead

SIGNALS = ("speech16k", "speech16k_b", "tones16k", "noise16k", "silence16k")
CONTEXT = 64  # samples of the frame before, which the server adds


class Reference:
    def __init__(self):
        data = np.load(os.path.join(ROOT, "tests", "data", "silero", "silero_ref.npz"))
        self.frames = {s: np.ascontiguousarray(data[f"frames/{s}"][:, CONTEXT:]) for s in SIGNALS}
        self.expected = {s: data[f"silero_vad_openvino_16k/{s}/prob"] for s in SIGNALS}

    def steps(self):
        """(signal, its number, frame), the signals interleaved until each has ended."""
        for frame in range(max(len(f) for f in self.frames.values())):
            for number, signal in enumerate(SIGNALS, 1):
                if frame < len(self.frames[signal]):
                    yield signal, number, frame

    def error(self, step, id_of, start_of):
        """The largest error over all frames."""
        worst = 0.0
        for signal, number, frame in self.steps():
            last = frame == len(self.frames[signal]) - 1
            got = step(id_of(number, frame), start_of(frame), last, self.frames[signal][frame])
            worst = max(worst, abs(got - self.expected[signal][frame]))
        return worst

    def check(self, case, step):
        """Exact with the right state; far off when two sequences are swapped or every step begins anew."""
        base = np.random.default_rng().integers(1 << 40, 1 << 50).item()
        error = self.error(step, lambda n, frame: base + n, lambda frame: frame == 0)
        case.assertLessEqual(error, 1e-5)
        # Speech and tones exchange their ids in the middle of the tones. (Two speakers sound too much alike.)
        other = {1: 3, 3: 1}
        swap = lambda n, frame: base + 100 + (other.get(n, n) if frame >= 30 else n)
        case.assertGreater(self.error(step, swap, lambda frame: frame == 0), 0.1)
        fresh = iter(range(base + 1000, base + 1_000_000))
        case.assertGreater(self.dropped(step, fresh), 0.1)

    def dropped(self, step, ids):
        """The largest error when the state of speech is forgotten at every frame."""
        frames, expected = self.frames["speech16k"][:60], self.expected["speech16k"]
        return max(abs(step(next(ids), True, False, f) - e) for f, e in zip(frames, expected))


class SileroCase(ServedCase):
    """The voice-activity example against what ONNX Runtime computed with the state carried by hand."""

    @classmethod
    def start(cls):
        cls.reference = Reference()
        return Stead("--config_path", VOICE)
