"""What is done with scores before somebody sees them."""

import numpy


def PostProcessImage(scores):
    """The five best classes of each image and their probabilities: f32 [n, 5, 2]."""
    e = numpy.exp(scores - scores.max(-1, keepdims=True))
    best = numpy.argsort(-scores, axis=-1, kind="stable")[:, :5]
    of_best = numpy.take_along_axis(e / e.sum(-1, keepdims=True), best, -1)
    return numpy.stack([best, of_best], -1).astype("float32")
