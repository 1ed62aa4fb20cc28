"""Sessions."""

import os
import warnings

from .. import _engine
from .binding import IOBinding
from .errors import NoSuchFile, error
from .options import EXTERNAL_FOLDER, GraphOptimizationLevel, RunOptions, SessionOptions
from .values import OrtValue

CPU = "CPUExecutionProvider"

_LEVELS = {GraphOptimizationLevel.ORT_DISABLE_ALL: 0, GraphOptimizationLevel.ORT_ENABLE_BASIC: 1}


class NodeArg:
    """An input or output: `name`, `type` such as `tensor(float)`, and `shape`, in which a size that is not fixed is its
    symbol or None."""

    __slots__ = ("name", "shape", "type")

    def __init__(self, name, kind, shape):
        self.name = name
        self.type = kind
        self.shape = shape

    def __repr__(self):
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape!r})"


class ModelMetadata:
    """What the file says about itself."""

    __slots__ = (
        "custom_metadata_map",
        "description",
        "domain",
        "graph_description",
        "graph_name",
        "producer_name",
        "version",
    )

    def __init__(self, meta):
        for name in self.__slots__:
            setattr(self, name, meta[name])


class InferenceSession:
    """A model that is ready to run, from any number of threads at once."""

    def __init__(self, path_or_bytes, sess_options=None, providers=None, provider_options=None, **kwargs):
        if kwargs:
            raise NotImplementedError(f"stead has no InferenceSession(..., {next(iter(kwargs))}=...)")
        if sess_options is not None and not isinstance(sess_options, SessionOptions):
            raise TypeError(f"sess_options: a stead.SessionOptions expected, got {type(sess_options).__name__}")
        self._sess_options = sess_options or SessionOptions()
        _check_providers(providers, provider_options)
        path, data = None, None
        if isinstance(path_or_bytes, (str, os.PathLike)):
            path = os.fspath(path_or_bytes)
            if not os.path.exists(path):
                raise error(NoSuchFile, f"Load model from {path} failed: File doesn't exist")
        elif isinstance(path_or_bytes, (bytes, bytearray, memoryview)):
            data = bytes(path_or_bytes)
        else:
            raise TypeError(f"Unable to load from type '{type(path_or_bytes)}'")
        options = self._sess_options
        folder = options._entries.get(EXTERNAL_FOLDER)
        level = _LEVELS.get(options.graph_optimization_level, 2)
        self._session = _engine.Session(path, data, folder, level, options.intra_op_num_threads)
        inputs = self._session.inputs()
        self._inputs = [NodeArg(*spec) for *spec, optional in inputs if not optional]
        self._overridable = [NodeArg(*spec) for *spec, optional in inputs if optional]
        self._outputs = [NodeArg(*spec) for *spec, _ in self._session.outputs()]

    def run(self, output_names, input_feed, run_options=None):
        """The outputs of these names, or all for None, as arrays. Arrays of the types of the inputs are read where they
        are; what is computed is not copied either. Other threads run meanwhile."""
        return self._session.run(output_names, input_feed, None if run_options is None else run_options._stop)

    def run_with_ort_values(self, output_names, input_dict_ort_values, run_options=None):
        return [OrtValue(array) for array in self.run(output_names, input_dict_ort_values, run_options)]

    def io_binding(self):
        return IOBinding(self)

    def run_with_iobinding(self, iobinding, run_options=None):
        iobinding._run(run_options)

    def get_inputs(self):
        return self._inputs

    def get_outputs(self):
        return self._outputs

    def get_overridable_initializers(self):
        """Inputs that have a value of their own and may be left out."""
        return self._overridable

    def get_modelmeta(self):
        return ModelMetadata(self._session.meta())

    def get_session_options(self):
        return self._sess_options

    def get_providers(self):
        return [CPU]

    def get_provider_options(self):
        return {CPU: {}}

    def set_providers(self, providers=None, provider_options=None):
        _check_providers(providers, provider_options)

    def enable_fallback(self):
        """Without effect: there is one provider."""

    def disable_fallback(self):
        """Without effect: there is one provider."""


def _refused(name):
    def refuse(self, *_, **__):
        raise NotImplementedError(f"stead has no InferenceSession.{name}")

    refuse.__name__ = name
    return refuse


for _name in (
    "create_ortvalue_from_shape_and_type",
    "end_profiling",
    "get_input_epdevices",
    "get_input_memory_infos",
    "get_output_memory_infos",
    "get_profiling_start_time_ns",
    "get_provider_graph_assignment_info",
    "get_tuning_results",
    "release_captured_graph",
    "run_async",
    "run_with_ortvaluevector",
    "set_ep_dynamic_options",
    "set_tuning_results",
):
    setattr(InferenceSession, _name, _refused(_name))


def _check_providers(providers, provider_options):
    """Providers by name, or by name and options; those that are not here are warned of, as ONNX Runtime does."""
    for provider in providers or ():
        name = provider[0] if isinstance(provider, tuple) else provider
        if not isinstance(name, str):
            raise ValueError("'providers' values must be either strings or (string, dict) tuples.")
        if name != CPU:
            warnings.warn(
                f"Specified provider '{name}' is not in available provider names.Available providers: '{CPU}'",
                stacklevel=3,
            )
    if provider_options and not providers:
        raise ValueError("'provider_options' should be accompanied by 'providers'.")
