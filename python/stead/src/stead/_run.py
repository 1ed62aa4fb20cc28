"""Coroutines of components.

asyncio takes longer to import than all of stead, so only those who need it do.
"""

import inspect
import sys
import threading


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
    outer, task = asyncio._get_running_loop(), asyncio.current_task()
    # From Python 3.14 on a thread has one task that runs, whatever loops there are.
    if task is not None:
        asyncio.tasks._leave_task(outer, task)
    asyncio._set_running_loop(None)
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(value)
    finally:
        loop.close()
        asyncio._set_running_loop(outer)
        if task is not None:
            asyncio.tasks._enter_task(outer, task)


def _run(coroutine):
    runtime = sys.modules.get("_stead_runtime")
    # Threads that code has started have loops of their own: that of stead may be waiting for them.
    if runtime is not None and threading.current_thread() is threading.main_thread():
        return runtime.run(coroutine)
    import asyncio

    return asyncio.run(coroutine)
