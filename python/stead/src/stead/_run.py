"""Coroutines of components."""

import asyncio
import inspect
import sys


def finish(value):
    """What a method gave; of a coroutine what it gives when it has been run to its end."""
    if not inspect.iscoroutine(value):
        return value
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
    return asyncio.run(coroutine) if runtime is None else runtime.run(coroutine)
