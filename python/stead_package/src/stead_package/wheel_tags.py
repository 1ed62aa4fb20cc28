"""Compatibility tags of wheels: which interpreters and platforms their files are for.

Source: the packaging specifications "Platform compatibility tags" and PEP 600.
"""

from __future__ import annotations

import re
import sys
from typing import Iterable, Iterator

_LEGACY_GLIBC = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}


def expand(tag: str) -> Iterator[str]:
    """`py2.py3-none-any` as `py2-none-any`, `py3-none-any`."""
    parts = tag.split("-")
    if len(parts) != 3:
        return
    for python in parts[0].split("."):
        for abi in parts[1].split("."):
            for where in parts[2].split("."):
                yield f"{python}-{abi}-{where}"


def fits(tags: Iterable[str]) -> bool:
    """Whether one of the tags is for the running interpreter on this machine."""
    return any(_fits(*one.split("-")) for tag in tags for one in expand(tag))


def here() -> str:
    """The running interpreter as a tag, for messages."""
    return f"cp{sys.version_info[0]}{sys.version_info[1]} on {_platform()}"


def remedy(tags: Iterable[str]) -> str:
    """What to do about tags that do not fit."""
    wanted = sorted({part.split("-")[0] for tag in tags for part in expand(tag)})
    minors = [f"{name[2]}.{name[3:]}" for name in wanted if re.fullmatch(r"cp3\d+", name)]
    own = f"{sys.version_info[0]}.{sys.version_info[1]}"
    other = f", or run it with Python {' or '.join(minors)}" if minors and own not in minors else ""
    return f"bundle the wheel for this Python and platform (pip download --only-binary :all: with Python {own} gets it){other}"


def _platform() -> str:
    import sysconfig

    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def _fits(python: str, abi: str, where: str) -> bool:
    major, minor = sys.version_info[:2]
    match = re.fullmatch(r"(cp|py)(\d)(\d*)", python)
    if match is None or int(match[2]) != major:
        return False
    wanted = int(match[3]) if match[3] else 0
    own_abi = f"cp{major}{minor}"
    if match[1] == "cp":
        stable = abi == "abi3" and wanted <= minor
        python_fits = stable or (wanted == minor and abi in (own_abi, "none"))
    else:
        python_fits = abi == "none" and wanted <= minor
    return python_fits and _platform_fits(where)


def _platform_fits(where: str) -> bool:
    own = _platform()
    if where in ("any", own):
        return True
    if not own.startswith("linux_"):
        return False
    machine = own[len("linux_") :]
    if not where.endswith(f"_{machine}"):
        return False
    policy = where[: -len(machine) - 1]
    versioned = re.fullmatch(r"manylinux_(\d+)_(\d+)", policy)
    wanted = (int(versioned[1]), int(versioned[2])) if versioned else _LEGACY_GLIBC.get(policy)
    return wanted is not None and wanted <= _glibc()


def _glibc():
    import platform

    name, version = platform.libc_ver()
    numbers = re.findall(r"\d+", version)
    return (int(numbers[0]), int(numbers[1])) if name == "glibc" and len(numbers) >= 2 else (0, 0)
