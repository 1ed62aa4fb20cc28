"""How often a model of a package runs in a while, called from some threads of one interpreter."""

import threading
import time

import torch


def counted(model, inputs, threads, seconds):
    """Runs of so many threads in so many seconds."""
    counts = [0] * threads

    def loop(at):
        end = time.perf_counter() + seconds
        with torch.no_grad():  # each thread has that for itself
            while time.perf_counter() < end:
                model(*inputs)
                counts[at] += 1

    others = [threading.Thread(target=loop, args=(at,)) for at in range(1, threads)]
    for other in others:
        other.start()
    loop(0)
    for other in others:
        other.join()
    return sum(counts)


def run(name, threads, seconds):
    """The same for the model of this package, whatever its name."""
    import stead_package_importer

    torch.set_num_threads(1)
    model = stead_package_importer.load_pickle("model", "model.pkl")
    inputs = stead_package_importer.load_pickle("model", "inputs.pkl")
    return counted(model, inputs, threads, seconds)
