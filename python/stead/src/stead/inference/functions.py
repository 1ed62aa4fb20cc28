"""Functions of the module."""

from .session import CPU


def get_available_providers():
    return [CPU]


def get_all_providers():
    return [CPU]


def get_device():
    return "CPU"


def get_version_string():
    """The version of stead."""
    from .. import __version__

    return __version__


def get_build_info():
    return f"stead {get_version_string()}"


def set_default_logger_severity(level):
    """Without effect: nothing is logged."""
    if level not in range(5):
        raise ValueError(f"a severity of 0 to 4 expected, got {level!r}")


def set_default_logger_verbosity(level):
    """Without effect: nothing is logged."""


def disable_telemetry_events():
    """Without effect: there is none."""


def enable_telemetry_events():
    raise NotImplementedError("stead has no enable_telemetry_events: it tells nobody anything")


def set_seed(seed):
    raise NotImplementedError("stead has no set_seed: random operators have the seed of the model or one of their own")


def set_global_thread_pool_sizes(*_):
    raise NotImplementedError("stead has no set_global_thread_pool_sizes: one pool has a thread for each core")
