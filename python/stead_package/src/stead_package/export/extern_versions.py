"""From which installed distributions the extern modules of a package come."""

from __future__ import annotations

import importlib.metadata
from typing import Dict, Iterable, List

from ..manifest import Extern
from ..standard_library import is_standard


def extern_versions(modules: Iterable[str]) -> List[Extern]:
    """Each module with its distribution and that one's version; without where nothing installed has it."""
    providers: Dict[str, str] = {}
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"]
        for root in _roots(distribution):
            providers.setdefault(root, name)
    found = []
    for module in modules:
        name = None if is_standard(module) else providers.get(module.partition(".")[0])
        found.append(Extern(module, name, importlib.metadata.version(name) if name else None))
    return found


def _roots(distribution: importlib.metadata.Distribution) -> Iterable[str]:
    listed = (distribution.read_text("top_level.txt") or "").split()
    if listed:
        return listed
    roots = set()
    for file in distribution.files or []:
        root = file.parts[0]
        if root.endswith(".py") and len(file.parts) == 1:
            roots.add(root[: -len(".py")])
        elif len(file.parts) > 1 and root.isidentifier():
            roots.add(root)
    return roots
