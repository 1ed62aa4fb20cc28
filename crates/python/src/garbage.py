# When garbage is collected: not while a caller waits, if that can be.
import gc

# So many more objects than were dropped may a call have made before Python collects in the midst of it. An object that
# takes part in collections has about 100 bytes, often with a dict of 200 more: some 30 MB are the most that waits for
# its end. Looking through so many takes about 10 ms, which a call that made them does not notice.
_BOUND = 100_000
# An interpreter that nobody waits for collects from here on; what Python itself takes between two collections.
_IDLE = 700
# Each so many collections look at everything that was not frozen, as those of Python do.
_FULL_EVERY = 10

_collections = 0


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
        gc.collect(2 if _collections % _FULL_EVERY == 0 else 1)


gc.set_threshold(_BOUND, 10, 10)
