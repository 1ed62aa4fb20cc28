"""An image model of the MobileNet family, as small as can be: one depthwise separable block between a stem and a head."""

import numpy


class MobileNet:
    """Images f32 [n, 3, 224, 224] to scores f32 [n, 1000]."""

    def __init__(self, random):
        def weights(*shape):
            return (random.standard_normal(shape) / numpy.sqrt(shape[0])).astype("float32")

        self.stem = weights(3 * 16 * 16, 64)
        self.depthwise = weights(3, 3, 64)
        self.pointwise = weights(64, 128)
        self.head = weights(128, 1000)

    def to(self, arrays):
        """The same model with the arrays of another library."""
        moved = MobileNet.__new__(MobileNet)
        moved.__dict__ = {name: arrays.asarray(value) for name, value in self.__dict__.items()}
        return moved

    def __call__(self, images):
        n = len(images)
        patches = images.reshape(n, 3, 14, 16, 14, 16).transpose(0, 2, 4, 1, 3, 5).reshape(n, 14, 14, -1)
        x = hard_swish(patches @ self.stem)
        # A convolution over 3 x 3 neighbours, each channel for itself.
        x = sum(x[:, i : i + 12, j : j + 12] * self.depthwise[i, j] for i in range(3) for j in range(3))
        x = hard_swish(hard_swish(x) @ self.pointwise)
        return x.mean((1, 2)) @ self.head


def hard_swish(x):
    return x * (x + 3).clip(0, 6) / 6
