# When garbage is collected: not while a caller waits, if that can be.
import gc
import time

# So many more objects than were dropped may a call have made before Python collects in the midst of it. An object that
# takes part in collections has about 100 bytes, often with a dict of 200 more: some 30 MB are the most that waits for
# its end. Looking through so many takes about 10 ms, which a call that made them does not notice.
_BOUND = 100_000
# An interpreter that nobody waits for collects from here on; what Python itself takes between two collections.
_IDLE = 700
# Each so many collections look at everything that was not frozen, as those of Python do ...
_FULL_EVERY = 10
# ... unless that would take more of the time than one part in so many: who comes next waits for it.
_FULL_SHARE = 100

_collections = 0
_full_end = _full_time = 0.0


def settle():
    """What was loaded lives long: later collections do not look at it."""
    gc.collect()
    gc.freeze()


def thaw():
    """Something that was loaded is gone; what it leaves behind may be frozen."""
    gc.unfreeze()
    settle()


def idle(dropped, packages):
    """Nobody waits: lets go of objects and of packages, and collects if there may be something to collect."""
    global _collections
    loaded = release(dropped)
    for name in packages:
        loaded = close_package(name) or loaded
    if loaded:
        thaw()
    elif gc.get_count()[0] >= _IDLE:
        _collections += 1
        if _collections >= _FULL_EVERY and time.monotonic() - _full_end >= _FULL_SHARE * _full_time:
            _full()
        else:
            gc.collect(1)


def _full():
    global _collections, _full_end, _full_time
    begin = time.monotonic()
    gc.collect()
    _full_end = time.monotonic()
    _collections, _full_time = 0, _full_end - begin


gc.set_threshold(_BOUND, 10, 10)
