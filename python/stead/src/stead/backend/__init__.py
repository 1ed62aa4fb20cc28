"""An ONNX backend: what runs the tests of the `onnx` package, and its scoreboard.

    import onnx.backend.test, stead.backend
    tests = onnx.backend.test.BackendTest(stead.backend, __name__)
"""

import os

from onnx.backend.base import Backend, BackendRep

from ..inference import InferenceSession, get_device


class SteadRep(BackendRep):
    """A model that is ready to run."""

    def __init__(self, session):
        self._session = session

    def run(self, inputs, **kwargs):
        """The outputs for inputs by name or in their order, or for one alone."""
        if not isinstance(inputs, dict):
            inputs = inputs if isinstance(inputs, (list, tuple)) else [inputs]
            expected = self._session.get_inputs() + self._session.get_overridable_initializers()
            if len(inputs) > len(expected):
                raise ValueError(f"{len(expected)} inputs expected, got {len(inputs)}")
            inputs = {spec.name: value for spec, value in zip(expected, inputs)}
        return self._session.run(None, inputs, kwargs.get("run_options"))


class SteadBackend(Backend):
    """stead behind the interface of `onnx.backend.base`."""

    @classmethod
    def is_compatible(cls, model, device=None, **kwargs):
        return device is None or cls.supports_device(device)

    @classmethod
    def supports_device(cls, device):
        return device.split(":")[0].upper() == get_device()

    @classmethod
    def prepare(cls, model, device=None, **kwargs):
        """A representation of a model, a session, or the path or bytes of a file."""
        if device is not None and not cls.supports_device(device):
            raise RuntimeError(f"Incompatible device expected '{device}', got '{get_device()}'")
        if isinstance(model, (SteadRep, InferenceSession)):
            return model if isinstance(model, SteadRep) else SteadRep(model)
        if not isinstance(model, (str, bytes, os.PathLike)):
            model = model.SerializeToString()
        return SteadRep(InferenceSession(model, kwargs.get("sess_options")))

    @classmethod
    def run_model(cls, model, inputs, device=None, **kwargs):
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node, inputs, device=None, outputs_info=None, **kwargs):
        raise NotImplementedError("stead.backend has no run_node: a node alone does not say the types of its outputs")


is_compatible = SteadBackend.is_compatible
prepare = SteadBackend.prepare
run_model = SteadBackend.run_model
run_node = SteadBackend.run_node
supports_device = SteadBackend.supports_device
