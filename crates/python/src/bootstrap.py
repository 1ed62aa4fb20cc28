"""What stead needs inside every interpreter, in process and in a worker alike, so that both give the same answers."""
# What is imported here every interpreter has, in memory of its own: importlib.abc alone brings sixty modules.
import builtins
import importlib
import importlib.machinery
import os
import signal
import sys
import threading
import types


class DeadlineExceeded(BaseException):
    """Raised in code whose caller has stopped waiting. Not an Exception, so that code which tries again does not."""


class HostError(Exception):
    """stead did not do what it was asked for. `code` is not_found, invalid, unavailable, deadline or internal."""

    def __init__(self, message, code="internal"):
        super().__init__(message)
        self.code = code


HostError.__module__ = "stead"

# What is written in C and imports something for itself, as numpy does, looks here for how.
__builtins__ = builtins

_ask = None
_modules = {}
_packages = {}
_pid = os.getpid()
_end = os._exit
_runner = None

_CODES = {
    "bool": "?", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I",
    "int64": "q", "uint64": "Q", "float32": "f", "float64": "d", "bfloat16": "H",
}


def load(name, source):
    """Executes a module and keeps it under its name."""
    called(name)
    known = sys.modules.get(name)
    if known is not None and _modules.get(name) is not known:
        raise ImportError(f"a module named {name} is imported already; choose another name", name=name)
    import linecache
    file = f"<{name}>"
    module = types.ModuleType(name)
    module.__file__ = file
    # Tracebacks show lines of it.
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    sys.modules[name] = module
    try:
        exec(compile(source, file, "exec", dont_inherit=True), module.__dict__)
    except BaseException:
        if known is None:
            del sys.modules[name]
            linecache.cache.pop(file, None)
        else:
            sys.modules[name] = known
        raise
    _modules[name] = module
    settle() if known is None else thaw()


_name, _outputs = "", None


def capture(fd):
    """Has what is printed go to a pipe, by lines."""
    global _outputs
    streams = [
        open(fd, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False) for _ in range(2)
    ]
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__ = streams
    _outputs = fd, streams


def called(name):
    """What is printed from here on is of this name."""
    global _name
    if name != _name:
        _name = name
        fd, streams = _outputs
        for stream in streams:
            stream.flush()
        os.write(fd, f"\x1f{name}\n".encode())


def log(level, logger, message):
    """Writes a record to stead's log, behind what was printed before."""
    fd, streams = _outputs
    for stream in streams:
        stream.flush()
    head = f"\x1e{level}\x1d{logger[:200]}\x1d".encode("utf-8", "backslashreplace")
    data = message.encode("utf-8", "backslashreplace").replace(b"\n", b"\x1c")
    # What is longer than a pipe takes at once is several records.
    for at in range(0, len(data) or 1, 3000):
        os.write(fd, head + data[at:at + 3000] + b"\n")


class _Library:
    """Finds the modules that stead brings along: the module `stead`, and the importer of packages. It is what
    importlib.abc calls a MetaPathFinder and an InspectLoader."""

    def __init__(self, view):
        view = memoryview(view)
        index, self.view = bytes(view[:1 << 16]).split(b"\n", 1)[0].decode(), view
        parts = [part.split(" ") for part in index.split(";")]
        self.places = {name: slice(int(begin), int(end)) for name, begin, end in parts}

    def find_spec(self, name, path=None, target=None):
        if name not in self.places:
            return None
        return importlib.machinery.ModuleSpec(name, self, origin=f"<{name}>", is_package=self.is_package(name))

    def create_module(self, spec):
        """The module that Python makes itself."""

    def is_package(self, name):
        return any(other.startswith(name + ".") for other in self.places)

    def get_source(self, name):
        return bytes(self.view[self.places[name]]).decode()

    def get_code(self, name):
        return compile(self.get_source(name), f"<{name}>", "exec", dont_inherit=True)

    def exec_module(self, module):
        exec(self.get_code(module.__name__), module.__dict__)


def library(view):
    """Has modules be found that lie behind each other in memory: a line of names with begin and end, then sources."""
    sys.meta_path.insert(0, _Library(view))


def open_package(name, path):
    """Opens a package under a name, in place of one that was opened under it before."""
    called(name)
    from stead_package import PackageImporter
    opened = PackageImporter(path, name=name)
    is_new = name not in _packages
    _packages[name] = opened
    settle() if is_new else thaw()


def module_of(package, name):
    """A module of a package; without a package, one that was loaded or that can be imported."""
    if package:
        opened = _packages.get(package)
        if opened is None:
            raise LookupError(f"no package {package} is open")
        is_new = name not in opened.modules
        found = opened.import_module(name)
    else:
        found = _modules.get(name)
        is_new = found is None and name not in sys.modules
        if found is None:
            found = importlib.import_module(name)
    if is_new:
        settle()
    return found


def close_package(name):
    """Drops a package and its components; whether it was open."""
    components = sys.modules.get("stead._components")
    if components is not None:
        components.forget(name)
    return _packages.pop(name, None) is not None


def find(package, module, name):
    """A global of a module."""
    if module not in ("stead._components", "_stead_runtime"):
        # Which component it is, that says itself; so do operations with objects.
        called(package or module)
    found = module_of(package, module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def ask_with(function):
    """Says how stead is asked: with a name and a tuple. The answer is a tuple whose first item says what the others are."""
    global _ask
    _ask = function


def host(name, *arguments):
    """Asks stead, from any thread, while a call runs."""
    if not isinstance(name, str):
        raise TypeError(f"what is asked for is a text, not {type(name).__name__}")
    if os.getpid() != _pid:
        raise HostError(f"{name}: a child process of an interpreter can ask nothing of stead", "unavailable")
    answer = _ask(name, arguments)
    if answer is None:
        raise SystemError(f"{name}: there was no memory for the answer")
    kind, *parts = answer
    if kind == "value":
        return parts[0]
    if kind == "late":
        raise DeadlineExceeded
    if kind == "type":
        raise TypeError(parts[0])
    code, message = parts
    raise HostError(message, code)


def forget():
    """Drops everything that was loaded."""
    release([*_objects, *_movables])
    components = sys.modules.get("stead._components")
    if components is not None:
        components.forget()
    _packages.clear()
    for name in list(_modules):
        import linecache
        module = _modules.pop(name)
        linecache.cache.pop(module.__file__, None)
        if sys.modules.get(name) is module:
            del sys.modules[name]
    thaw()


def tensor(buffer, dtype, shape):
    """A read-only array over a buffer: of numpy, or a memoryview where there is no numpy."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        try:
            import numpy
        except ImportError:
            return _view(buffer, dtype, shape)
    if dtype == "bfloat16":
        dtype = _bfloat16()
    return numpy.ndarray(shape, dtype, buffer)


_bits = None


def _bfloat16():
    """The type of numpy for it, or for its bits where it is not installed."""
    global _bits
    if _bits is None:
        try:
            from ml_dtypes import bfloat16 as _bits
        except ImportError:
            _bits = "uint16"
    return _bits


def strings(values, shape):
    """An array of bytes objects: of numpy, or nested lists where there is no numpy."""
    try:
        import numpy
    except ImportError:
        for size in reversed(shape[1:]):
            rows = range(0, len(values), size) if size else range(shape[0])
            values = [values[at:at + size] for at in rows]
        return values if shape else values[0]
    array = numpy.empty(len(values), dtype=object)
    array[:] = values
    array.flags.writeable = False
    return array.reshape(shape)


def exotic(array):
    """What stands for an array whose buffer nobody can read: the bits of bfloat16, or texts as a list with their shape."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(array, (numpy.ndarray, numpy.generic)):
        return None
    dtype = array.dtype
    if dtype.name == "bfloat16":
        return (numpy.asarray(array).view("uint16"),)
    if dtype.kind not in "OSUT":
        return None
    values = []
    for item in numpy.asarray(array).reshape(-1).tolist():
        if isinstance(item, str):
            item = item.encode()
        elif not isinstance(item, bytes):
            return None
        values.append(item)
    return values, list(array.shape)


def _view(buffer, dtype, shape):
    code = _CODES.get(dtype)
    if code is None or 0 in shape:
        raise ImportError(f"an array of {dtype} with shape {list(shape)} needs numpy, which is not installed")
    return memoryview(buffer).cast("B").cast(code, shape)


def _references(held):
    """The count of references to what only `held` has, as seen here."""
    base = held.base
    return sys.getrefcount(base)


_SOLE = _references(types.SimpleNamespace(base=object()))


def owns(array):
    """Whether an array is one of numpy whose memory belongs to it, or to one that nothing else has."""
    numpy = sys.modules.get("numpy")
    if numpy is None or type(array) is not numpy.ndarray:
        return False
    if array.flags.owndata:
        return True
    return type(array.base) is numpy.ndarray and array.base.flags.owndata and _references(array) == _SOLE


def origin(array):
    """What has the memory of an array, behind the arrays that it is a view of."""
    numpy = sys.modules.get("numpy")
    while numpy is not None and type(array) is numpy.ndarray:
        array = array.base
    return array.obj if type(array) is memoryview else array


def is_coroutine(value):
    return isinstance(value, types.CoroutineType)


def run(coroutine):
    """Runs a coroutine to its end on the loop of this interpreter."""
    global _runner
    import asyncio
    if _runner is None:
        _runner = asyncio.new_event_loop()
    try:
        return _runner.run_until_complete(coroutine)
    except DeadlineExceeded:
        # What else runs on it belongs to a caller that is gone.
        loop, _runner = _runner, None
        for task in asyncio.all_tasks(loop):
            task.cancel()
        raise


def describe(error):
    """Class, message and the whole text of an exception, and the component that raised it or nothing."""
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    try:
        message = str(error)
    except Exception:
        message = "(an exception whose text cannot be had)"
    import traceback
    trace = error.__traceback__
    # The frames of stead itself tell nobody anything.
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(("<stead>", "<stead.")):
        trace = trace.tb_next
    text = "".join(traceback.format_exception(kind, error, trace))
    component = vars(error).get("_stead_component", "") if hasattr(error, "__dict__") else ""
    return tuple(part.encode("utf-8", "replace").decode() for part in (name, message, text, component))


def nothing():
    """Does nothing; what is pending for this thread is raised here at the latest."""


def _install():
    """Code that ends its process or takes its signals must not end the process of others."""
    def _exit(status):
        if os.getpid() != _pid:
            _end(status)
        raise SystemExit(status)

    def abort():
        if os.getpid() != _pid:
            _end(134)
        raise SystemExit("abort")

    os._exit, os.abort = _exit, abort
    handlers = {}

    def set_handler(number, handler):
        if os.getpid() != _pid:
            return _set(number, handler)
        number = signal.Signals(number)
        before, handlers[number] = handlers.get(number, signal.SIG_DFL), handler
        return before

    def get_handler(number):
        return handlers.get(signal.Signals(number), signal.SIG_DFL) if os.getpid() == _pid else _get(number)

    def refused(name, function):
        def call(*args):
            if os.getpid() == _pid:
                # Nothing here would handle it, and the default of most signals ends the process.
                raise RuntimeError(f"signal.{name} would send a signal to the whole server; use a timer of asyncio or threading")
            return function(*args)
        return call

    # What packages bundle is found before what is installed (options.rs).
    folders = os.environ.pop("STEAD_PYTHON_FOLDERS", "")
    sys.path[:0] = [folder for folder in folders.split("\n") if folder]
    _set, _get = signal.signal, signal.getsignal
    signal.signal, signal.getsignal = set_handler, get_handler
    for name in ("alarm", "setitimer", "raise_signal"):
        setattr(signal, name, refused(name, getattr(signal, name)))
    import faulthandler
    # It would take the handlers of the whole process.
    faulthandler.enable = lambda *args, **keywords: None
    faulthandler.register = lambda *args, **keywords: None


_install()
# By this name calls find what is above, also in a worker, where it is `__main__`.
sys.modules["_stead_runtime"] = sys.modules[__name__]
assert threading.main_thread() is threading.current_thread()
