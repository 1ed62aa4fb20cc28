"""Whether the running interpreter is one that a package can be loaded in."""

from __future__ import annotations

import sys
from typing import List, Optional

from .manifest import Manifest
from .module_source import find_spec


def running_minor() -> str:
    """`3.11`"""
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def wrong_python(manifest: Manifest) -> Optional[str]:
    """Why the running Python may not load the package; None if it may."""
    wanted = manifest.requires_python
    if wanted is None or wanted == running_minor():
        return None
    return f"wants Python {wanted}, and this is Python {sys.version.split()[0]}"


def problems(manifest: Manifest) -> List[str]:
    """What is missing or differs from what was seen at export, a line for each."""
    found = []
    wrong = wrong_python(manifest)
    if wrong:
        found.append(wrong)
    bundled = {module for bundle in manifest.bundles for module in bundle.modules}
    seen = set()
    for extern in manifest.externs:
        root = extern.module.partition(".")[0]
        if root in seen or root in bundled:
            continue
        seen.add(root)
        if find_spec(root) is None:
            wanted = f" (pip install {extern.distribution}=={extern.version})" if extern.distribution else ""
            found.append(f"extern module {root!r} is not installed{wanted}")
        elif extern.distribution:
            version = _installed(extern.distribution)
            if version != extern.version:
                found.append(f"{extern.distribution} is {version} here and was {extern.version} at export")
    return found


def _installed(distribution: str) -> Optional[str]:
    # Its imports take more memory than all of this package, and most interpreters never ask.
    import importlib.metadata

    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None
