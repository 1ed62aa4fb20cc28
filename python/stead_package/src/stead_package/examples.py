"""Replaying recorded examples: the same inputs must give the recorded outputs."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass, field
from typing import Any, Callable, List

from .manifest import Example


@dataclass
class Replay:
    """How a replay ended."""

    name: str
    output: Any
    differences: List[str] = field(default_factory=list)
    """One line for each place that differs, with its path in the output."""

    @property
    def passed(self) -> bool:
        """Whether the output is the recorded one."""
        return not self.differences


def replay(example: Example, function: Callable[..., Any], inputs: Any, outputs: Any) -> Replay:
    """Calls `function` with the inputs: a dict as keyword arguments, a list or tuple as positional ones."""
    answer = function(**inputs) if isinstance(inputs, dict) else function(*inputs)
    if inspect.iscoroutine(answer):
        import asyncio

        answer = asyncio.run(_awaited(answer))
    result = Replay(example.name, answer)
    compare(answer, outputs, "output", example.rtol, example.atol, result.differences)
    return result


async def _awaited(coroutine: Any) -> Any:
    return await coroutine


def compare(found: Any, expected: Any, path: str, rtol: float, atol: float, differences: List[str]) -> None:
    """Appends a line for each difference. Numbers agree within `atol + rtol * |expected|`, NaN with NaN; element types
    and shapes of arrays must be equal."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in expected:
            if key not in found:
                differences.append(f"{path}[{key!r}] is missing")
            else:
                compare(found[key], expected[key], f"{path}[{key!r}]", rtol, atol, differences)
        differences.extend(f"{path}[{key!r}] is new" for key in found if key not in expected)
    elif isinstance(expected, (list, tuple)) and isinstance(found, (list, tuple)):
        if len(found) != len(expected):
            differences.append(f"{path} has {len(found)} elements instead of {len(expected)}")
            return
        for i, (one, other) in enumerate(zip(found, expected)):
            compare(one, other, f"{path}[{i}]", rtol, atol, differences)
    elif hasattr(expected, "shape") and hasattr(expected, "dtype"):
        _compare_arrays(found, expected, path, rtol, atol, differences)
    elif isinstance(expected, float) and isinstance(found, (int, float)):
        # Any tolerance around infinity is infinite.
        finite = math.isfinite(found) and math.isfinite(expected)
        close = abs(found - expected) <= atol + rtol * abs(expected) if finite else found == expected
        if not close and not (math.isnan(found) and math.isnan(expected)):
            differences.append(f"{path} is {found!r} instead of {expected!r}")
    elif type(found) is not type(expected) or found != expected:
        differences.append(f"{path} is {found!r} instead of {expected!r}")


def _compare_arrays(found: Any, expected: Any, path: str, rtol: float, atol: float, differences: List[str]) -> None:
    import numpy

    one, other = (a.detach().cpu().numpy() if hasattr(a, "detach") else numpy.asarray(a) for a in (found, expected))
    if one.shape != other.shape or one.dtype != other.dtype:
        differences.append(f"{path} is {one.dtype}{list(one.shape)} instead of {other.dtype}{list(other.shape)}")
    elif one.dtype.kind in "fc":
        close = numpy.isclose(one, other, rtol=rtol, atol=atol, equal_nan=True)
        if not close.all():
            worst = numpy.unravel_index(int(numpy.argmin(close)), close.shape)
            place = [int(i) for i in worst]
            differences.append(f"{path}{place} is {one[worst]!r} instead of {other[worst]!r}, {(~close).sum()} differ")
    elif not numpy.array_equal(one, other):
        differences.append(f"{path} differs in {(one != other).sum()} elements")
