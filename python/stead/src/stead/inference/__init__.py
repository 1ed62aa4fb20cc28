"""Models run in this process, by the names of ONNX Runtime's Python API: `import stead as ort`.

`stead` shows everything here under its own name and imports it when it is asked for, since components inside a server have
no use for it and their `stead` no native module.
"""

from .. import _INFERENCE
from .binding import IOBinding
from .functions import (
    disable_telemetry_events,
    enable_telemetry_events,
    get_all_providers,
    get_available_providers,
    get_build_info,
    get_device,
    get_version_string,
    set_default_logger_severity,
    set_default_logger_verbosity,
    set_global_thread_pool_sizes,
    set_seed,
)
from .options import ExecutionMode, ExecutionOrder, GraphOptimizationLevel, RunOptions, SessionOptions
from .session import InferenceSession, ModelMetadata, NodeArg
from .values import OrtValue

# The list is that of `stead`, which looks these names up here and must know them where there is no native module.
__all__ = sorted(_INFERENCE - {"capi"})
