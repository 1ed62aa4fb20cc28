#!/usr/bin/env python3
"""Streams a WAV file to a voice activity detector and draws how likely each moment is speech.

    python client.py                    speech.wav, as fast as the server answers
    python client.py --live             at the speed of a microphone
    python client.py my.wav --text     one line for each 32 ms: time and probability

It needs Python 3.8 or later and nothing else.
"""

import argparse
import array
import http.client
import json
import os
import sys
import time
import urllib.parse
import wave

RATE = 16000
CHUNK = 512  # samples of one step: 32 ms
BLOCKS = " \u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"
ROW = 50  # chunks in one line of the drawing: 1.6 s
SPEECH = 0.5


def chunks(path):
    """The samples of a WAV file in pieces of 512, the last one filled up with silence."""
    with wave.open(path, "rb") as file:
        form = (file.getframerate(), file.getnchannels(), file.getsampwidth())
        if form != (RATE, 1, 2):
            sys.exit(f"{path}: expected 16 kHz, one channel, 16 bits; convert it with\n"
                     f"  ffmpeg -i {path} -ar 16000 -ac 1 -c:a pcm_s16le out.wav")
        while True:
            samples = array.array("h", file.readframes(CHUNK))
            if sys.byteorder == "big":
                samples.byteswap()
            if not samples:
                return
            yield [s / 32768 for s in samples] + [0.0] * (CHUNK - len(samples))


class Detector:
    """A sequence on the server: it keeps the model's memory between the chunks."""

    def __init__(self, url, model):
        self.host = urllib.parse.urlsplit(url).netloc or url
        self.path = f"/v2/models/{model}/infer"
        self.connection = http.client.HTTPConnection(self.host, timeout=10)
        self.id = f"{os.path.basename(sys.argv[0])}-{os.getpid()}-{time.time_ns()}"
        self.step = 0

    def feed(self, samples, last=False):
        """The probability that these samples are speech."""
        self.step += 1
        body = json.dumps({
            "inputs": [{"name": "input", "datatype": "FP32", "shape": [1, CHUNK], "data": samples}],
            "parameters": {"sequence_id": self.id, "sequence_start": self.step == 1, "sequence_end": last,
                           "sequence_step": self.step},
        })
        answer = self.send(body)
        return answer["outputs"][0]["data"][0]

    def send(self, body):
        # A numbered step may be sent again: the server runs it once and repeats its answer.
        for attempt in range(3):
            try:
                self.connection.request("POST", self.path, body, {"Content-Type": "application/json"})
                response = self.connection.getresponse()
                answer = json.loads(response.read())
                break
            except (OSError, http.client.HTTPException) as error:
                self.connection.close()
                if attempt == 2:
                    sys.exit(f"no answer from {self.host}: {error}; start the server with\n"
                             "  stead serve examples/voice-activity/config.json")
                time.sleep(0.2)
        if response.status != 200:
            sys.exit(f"{self.host}: {answer.get('error', response.status)}")
        return answer


def draw(index, probability):
    if index % ROW == 0:
        start = "" if index == 0 else "\n"
        print(f"{start}{index * CHUNK / RATE:6.2f} s |", end="")
    print(BLOCKS[round(probability * (len(BLOCKS) - 1))], end="", flush=True)


def segments(probabilities):
    """Pairs of seconds between which there is speech."""
    found, began = [], None
    for index, probability in enumerate(probabilities + [0.0]):
        if probability >= SPEECH and began is None:
            began = index
        if probability < SPEECH and began is not None:
            found.append((began * CHUNK / RATE, index * CHUNK / RATE))
            began = None
    return found


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description="Draw where speech is in a WAV file.")
    parser.add_argument("wav", nargs="?", default=os.path.join(here, "speech.wav"))
    parser.add_argument("--url", default="http://127.0.0.1:8080")
    parser.add_argument("--model", default="vad")
    parser.add_argument("--live", action="store_true", help="send at the speed of a microphone")
    parser.add_argument("--text", action="store_true", help="print numbers instead of a drawing")
    arguments = parser.parse_args()
    sys.stdout.reconfigure(encoding="utf-8")

    detector = Detector(arguments.url, arguments.model)
    pieces = list(chunks(arguments.wav))
    probabilities, began = [], time.monotonic()
    for index, piece in enumerate(pieces):
        if arguments.live:
            time.sleep(max(0.0, began + (index + 1) * CHUNK / RATE - time.monotonic()))
        probabilities.append(detector.feed(piece, last=index + 1 == len(pieces)))
        if arguments.text:
            print(f"{index * CHUNK / RATE:.3f} {probabilities[-1]:.6f}", flush=True)
        else:
            draw(index, probabilities[-1])
    took = time.monotonic() - began
    if not arguments.text:
        print()
        for start, end in segments(probabilities):
            print(f"speech from {start:.2f} s to {end:.2f} s")
        print(f"{len(pieces)} steps in {took:.2f} s")


if __name__ == "__main__":
    main()
