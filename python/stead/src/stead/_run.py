"""Coroutines of components.

asyncio takes longer to import than all of stead, so only those who need it do.
"""

import inspect
import sys


def finish(value):
    """What a method gave; of a coroutine what it gives when it has been run to its end."""
    if not inspect.iscoroutine(value):
        return value
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _run(value)
    # Called by other code that is a coroutine itself and does not await: its loop rests meanwhile.
    outer = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(value)
    finally:
        loop.close()
        asyncio._set_running_loop(outer)


def _run(coroutine):
    runtime = sys.modules.get("_stead_runtime")
    if runtime is not None:
        return runtime.run(coroutine)
    import asyncio

    return asyncio.run(coroutine)
