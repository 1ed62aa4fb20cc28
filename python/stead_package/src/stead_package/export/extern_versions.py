"""From which installed distributions the extern modules of a package come."""

from __future__ import annotations

import importlib.metadata
from typing import Dict, Iterable, List, Set

from ..manifest import Extern
from ..standard_library import is_standard


def extern_versions(modules: Iterable[str]) -> List[Extern]:
    """Each module with its distribution and that one's version; without where nothing installed has it."""
    modules = list(modules)
    wanted = {module.partition(".")[0] for module in modules if not is_standard(module)}
    # Reading what every installed distribution holds takes long, so it is done for a reason only.
    providers = _providers(wanted) if wanted else {}
    found = []
    for module in modules:
        name = providers.get(module.partition(".")[0])
        found.append(Extern(module, name, importlib.metadata.version(name) if name else None))
    return found


def _providers(wanted: Set[str]) -> Dict[str, str]:
    found: Dict[str, str] = {}
    for distribution in importlib.metadata.distributions():
        for root in wanted.intersection(_roots(distribution)):
            found.setdefault(root, distribution.metadata["Name"])
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
