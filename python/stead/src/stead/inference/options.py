"""Options of sessions and runs. What has no meaning for stead and does no harm is taken; all else is refused by its name."""

import enum

from .. import _engine


class GraphOptimizationLevel(enum.IntEnum):
    """Which passes change a graph. Extended and all are the same here."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    """Taken and without effect: branches of a model always run on threads that are idle, with the same bits."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(enum.IntEnum):
    """Taken and without effect: the order of nodes changes no result."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


# Entries of the session that change nothing of what is computed: how threads wait, where memory comes from.
_HARMLESS_ENTRIES = {
    "session.disable_prepacking",
    "session.dynamic_block_base",
    "session.force_spinning_stop",
    "session.inter_op.allow_spinning",
    "session.intra_op.allow_spinning",
    "session.intra_op.spin_duration_us",
    "session.use_device_allocator_for_initializers",
    "session.use_env_allocators",
}

EXTERNAL_FOLDER = "session.model_external_initializers_file_folder_path"


def _refused(name):
    raise NotImplementedError(f"stead has no {name}")


def _count(name, value):
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{name}: a number of threads expected, 0 for all, got {value!r}")
    return value


def _kept(name, check):
    """An option that `check` takes or refuses."""
    slot = f"_{name}"

    def put(self, value):
        setattr(self, slot, check(value))

    return property(lambda self: getattr(self, slot), put)


def _only(name, allowed):
    def check(value):
        return value if value == allowed else _refused(f"{name} = {value!r}")

    return check


class SessionOptions:
    """How a session is made."""

    __slots__ = (
        "_enable_profiling",
        "_entries",
        "_execution_mode",
        "_execution_order",
        "_graph_optimization_level",
        "_inter_op_num_threads",
        "_intra_op_num_threads",
        "_optimized_model_filepath",
        "enable_cpu_mem_arena",
        "enable_mem_pattern",
        "enable_mem_reuse",
        "log_severity_level",
        "log_verbosity_level",
        "logid",
        "profile_file_prefix",
        "use_deterministic_compute",
        "use_per_session_threads",
    )

    def __init__(self):
        self.intra_op_num_threads = 0
        self.inter_op_num_threads = 0
        self.execution_mode = ExecutionMode.ORT_SEQUENTIAL
        self.execution_order = ExecutionOrder.DEFAULT
        self.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_ALL
        self.enable_profiling = False
        self.optimized_model_filepath = ""
        self._entries = {}
        # Without effect: memory is one arena for a plan, all sessions share one pool of threads, results do not depend
        # on their number, and nothing is logged.
        self.enable_cpu_mem_arena = True
        self.enable_mem_pattern = True
        self.enable_mem_reuse = True
        self.use_deterministic_compute = False
        self.use_per_session_threads = True
        self.log_severity_level = -1
        self.log_verbosity_level = 0
        self.logid = ""
        self.profile_file_prefix = "onnxruntime_profile_"

    intra_op_num_threads = _kept("intra_op_num_threads", lambda n: _count("intra_op_num_threads", n))
    # Without effect: the threads of a run are those above, for branches too.
    inter_op_num_threads = _kept("inter_op_num_threads", lambda n: _count("inter_op_num_threads", n))
    execution_mode = _kept("execution_mode", ExecutionMode)
    execution_order = _kept("execution_order", ExecutionOrder)
    graph_optimization_level = _kept("graph_optimization_level", GraphOptimizationLevel)
    enable_profiling = _kept("enable_profiling", _only("SessionOptions.enable_profiling", False))
    optimized_model_filepath = _kept("optimized_model_filepath", _only("SessionOptions.optimized_model_filepath", ""))

    def add_session_config_entry(self, key, value):
        harmless = key in _HARMLESS_ENTRIES or (key, value) in (
            ("session.load_model_format", "ONNX"),
            ("session.set_denormal_as_zero", "0"),
        )
        if not harmless and key != EXTERNAL_FOLDER:
            _refused(f"session config entry {key!r} = {value!r}")
        self._entries[key] = value

    def get_session_config_entry(self, key):
        if key not in self._entries:
            raise RuntimeError(f"SessionOptions does not have configuration with key: {key}")
        return self._entries[key]

    def has_providers(self):
        return False

    def add_external_initializers(self, *_):
        _refused("SessionOptions.add_external_initializers")

    def add_external_initializers_from_files_in_memory(self, *_):
        _refused("SessionOptions.add_external_initializers_from_files_in_memory")

    def add_free_dimension_override_by_denotation(self, *_):
        _refused("SessionOptions.add_free_dimension_override_by_denotation")

    def add_free_dimension_override_by_name(self, *_):
        _refused("SessionOptions.add_free_dimension_override_by_name")

    def add_initializer(self, *_):
        _refused("SessionOptions.add_initializer")

    def add_provider(self, *_):
        _refused("SessionOptions.add_provider")

    def add_provider_for_devices(self, *_):
        _refused("SessionOptions.add_provider_for_devices")

    def register_custom_ops_library(self, *_):
        _refused("SessionOptions.register_custom_ops_library")

    def set_load_cancellation_flag(self, *_):
        _refused("SessionOptions.set_load_cancellation_flag")

    def set_provider_selection_policy(self, *_):
        _refused("SessionOptions.set_provider_selection_policy")

    def set_provider_selection_policy_delegate(self, *_):
        _refused("SessionOptions.set_provider_selection_policy_delegate")


class RunOptions:
    """How a run goes. `terminate` may be set by another thread: the run ends before its next step."""

    __slots__ = ("_stop", "log_severity_level", "log_verbosity_level", "logid", "only_execute_path_to_fetches")

    def __init__(self):
        self._stop = _engine.Stop()
        # Without effect: nothing is logged, and no output costs anything that is not asked for but computed on the way.
        self.log_severity_level = 2
        self.log_verbosity_level = 0
        self.logid = ""
        self.only_execute_path_to_fetches = False

    @property
    def terminate(self):
        return self._stop.get()

    @terminate.setter
    def terminate(self, value):
        self._stop.set(value)

    def add_run_config_entry(self, key, value):
        _refused(f"run config entry {key!r}")

    def get_run_config_entry(self, key):
        raise RuntimeError(f"RunOptions does not have configuration with key: {key}")

    def add_active_adapter(self, *_):
        _refused("RunOptions.add_active_adapter")
