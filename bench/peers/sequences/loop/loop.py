"""silero in a plain Python loop around ONNX Runtime: steps per second without any server, as a line of JSON.

`loop.py MODEL SECONDS`: a step at a time on one thread; two threads with half of the streams each; and 32 streams in
one run, as a careful author would write it.
"""

import json
import sys
import threading
import time

import numpy
import onnxruntime

STREAMS = 256
CONTEXT, CHUNK = 64, 512


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def work(session, streams, batch, seconds):
    """Steps of `streams` streams in turn, `batch` of them in a run."""
    random = numpy.random.default_rng(0)
    audio = random.uniform(-0.5, 0.5, (batch, CHUNK)).astype(numpy.float32)
    groups = range(0, streams, batch)
    state = {group: numpy.zeros((2, batch, 128), numpy.float32) for group in groups}
    context = {group: numpy.zeros((batch, CONTEXT), numpy.float32) for group in groups}
    steps, until = 0, time.perf_counter() + seconds
    while time.perf_counter() < until:
        for group in groups:
            signal = numpy.concatenate([context[group], audio], axis=1)
            output, state[group] = session.run(None, {"input": signal, "state": state[group]})
            context[group] = signal[:, -CONTEXT:]
            steps += len(output)
    return steps


def rate(path, threads, batch, seconds):
    shared, counts = session(path), []
    one = lambda: counts.append(work(shared, STREAMS // threads, batch, seconds))
    workers = [threading.Thread(target=one) for _ in range(threads)]
    begin = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(counts) / (time.perf_counter() - begin)


path, seconds = sys.argv[1], float(sys.argv[2])
forms = {"one_thread": (1, 1), "two_threads": (2, 1), "two_threads_batch_32": (2, 32)}
print(json.dumps({name: rate(path, *form, seconds) for name, form in forms.items()}))
