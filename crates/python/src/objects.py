# Objects that callers hold by numbers, which they choose, and objects that move between interpreters. No number is
# ever used again.


class Gone(LookupError):
    """What a caller holds is not here: the process that had it was replaced."""

    __module__ = "_stead_runtime"


class Unloaded(LookupError):
    """A movable object that was not loaded in this interpreter, or in a process that was replaced."""

    __module__ = "_stead_runtime"


_objects = {}
_movables = {}
# What the caller of the last operation still copies.
_dumped = None


def operate(package, dropped, operation, *arguments):
    """Does something with objects; `package` is the one whose session it is, `dropped` what nobody holds any more."""
    called(package)
    release(dropped)
    return _OPERATIONS[operation](package, *arguments)


def release(dropped):
    """Lets go of objects; whether one that was loaded is among them."""
    global _dumped
    _dumped = None
    loaded = False
    for number in dropped:
        _objects.pop(number, None)
        loaded = _movables.pop(number, None) is not None or loaded
    return loaded


def _held(number):
    try:
        return _objects[number]
    except KeyError:
        raise Gone("the interpreter that had the object is gone") from None


def _movable(number):
    try:
        return _movables[number][0]
    except KeyError:
        raise Unloaded(number) from None


def _argument(is_object, value):
    return _held(value) if is_object else value


def _importer(package, into):
    _objects[into] = _packages[package]


def _global(package, into, module, name):
    _objects[into] = find(package, module, name)


def _attribute(package, into, target, name):
    _objects[into] = getattr(_held(target), name)


def _hold(package, into, movable):
    _objects[into] = _movable(movable)


def _call(package, into, target, arguments, keywords):
    result = _held(target)(
        *[_argument(*pair) for pair in arguments], **{name: _argument(*pair) for name, pair in keywords.items()}
    )
    _objects[into] = run(result) if is_coroutine(result) else result


def _call_movable(package, movable, arguments, keywords):
    return _movable(movable)(*arguments, **keywords)


def _value(package, target):
    return _held(target)


def _dump(package, target):
    global _dumped
    from stead_package.movable import Dumped
    _dumped = Dumped(_packages[package], _held(target))
    return [_dumped.pickle, _dumped.table, _dumped.records]


def _load(package, movable, data, table, records):
    from stead_package.movable import load
    _keep(movable, load(_packages[package], data, table, records))


def _load_resource(package, movable, folder, resource):
    _keep(movable, _packages[package].load_pickle(folder, resource))


def _keep(movable, loaded):
    # In a tuple: it may be None.
    _movables[movable] = (loaded,)
    settle()


_OPERATIONS = {
    "importer": _importer,
    "global": _global,
    "attribute": _attribute,
    "hold": _hold,
    "call": _call,
    "call movable": _call_movable,
    "value": _value,
    "dump": _dump,
    "load": _load,
    "load resource": _load_resource,
}
