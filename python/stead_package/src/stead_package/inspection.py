"""What is in a package, told without running anything of it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, Dict, List

from . import environment, manifest as manifests
from .archive import open_archive
from .contents import Contents
from .names import DATA
from .package_importer import read_manifest, verify as verify_archive
from .tensors import TensorTable
from .torch_archive import TorchArchive


def inspect(source: Any, *, verify: bool = False) -> Dict[str, Any]:
    """The contents of a package as plain data.

    Raises:
        ArchiveError: not a package; with `verify`, one whose files are not those that were written.
    """
    archive = open_archive(source)
    if archive.has(manifests.ENTRY):
        kind, manifest = manifests.FORMAT, read_manifest(archive)
    else:
        kind = "torch.package"
        opened = TorchArchive(archive)
        archive, manifest = opened.archive, opened.manifest
    contents = Contents(archive, manifest)
    TensorTable(archive, manifest.tensors)
    if verify:
        verify_archive(archive, manifest)
    names = archive.names()
    resources = [name for name in names if not name.startswith(DATA) and not name.endswith(".py")]
    return {
        "file": archive.where,
        "format": kind,
        "version": manifest.version,
        "writer": manifest.writer,
        "python": manifest.python,
        "requires_python": manifest.requires_python,
        "environment": manifest.environment,
        "modules": contents.modules(),
        "externs": [asdict(extern) for extern in manifest.externs],
        "mocks": manifest.mocks,
        "resources": [{"name": name, "size": len(archive.view(name))} for name in resources],
        "entry_points": [asdict(entry) for entry in manifest.entry_points],
        "examples": [asdict(example) for example in manifest.examples],
        "tensors": [asdict(tensor) for tensor in manifest.tensors],
        "bundles": [asdict(bundle) for bundle in manifest.bundles],
        "size": sum(len(archive.view(name)) for name in names),
        "problems": environment.problems(manifest),
        "verified": verify,
    }


def describe(found: Dict[str, Any]) -> str:
    """The same for people."""
    lines = [f"{found['file']}: {found['format']} version {found['version']}, {found['size']} bytes"]
    python = found["python"] or "unknown"
    lines.append(f"exported with Python {python} by {found['writer']}")
    if found["requires_python"]:
        lines.append(f"runs in Python {found['requires_python']} only")
    if found["environment"]:
        lines.append(f"runs in the environment {found['environment']}")
    _section(lines, "modules", found["modules"])
    _section(lines, "externs", [_extern(extern) for extern in found["externs"]])
    _section(lines, "mocks", found["mocks"])
    _section(lines, "resources", [f"{one['name']} ({one['size']} bytes)" for one in found["resources"]])
    _section(lines, "entry points", [_entry_point(entry) for entry in found["entry_points"]])
    _section(lines, "examples", [f"{one['name']} of {one['entry_point']}" for one in found["examples"]])
    _section(lines, "tensors", [_tensor(tensor) for tensor in found["tensors"]])
    _section(lines, "bundles", [f"{one['name']} {one['version']} for {', '.join(one['tags'])}" for one in found["bundles"]])
    _section(lines, "problems in this interpreter", found["problems"])
    return "\n".join(lines)


def shown(source: Any, verify: bool, as_json: bool) -> str:
    """`inspect` as JSON or for people. Raises as that."""
    found = inspect(source, verify=verify)
    return json.dumps(found, indent=1) if as_json else describe(found)


def _section(lines: List[str], title: str, entries: List[str]) -> None:
    if entries:
        lines.append(f"{title}:")
        lines += [f"  {entry}" for entry in entries]


def _extern(extern: Dict[str, Any]) -> str:
    seen = f" ({extern['distribution']} {extern['version']} at export)" if extern["distribution"] else ""
    return extern["module"] + seen


def _entry_point(entry: Dict[str, Any]) -> str:
    place = entry["module"] or f"{(entry['package'] or '').replace('.', '/')}/{entry['resource']}"
    return f"{entry['name']} = {place}" + (f":{entry['attribute']}" if entry["attribute"] else "")


def _tensor(tensor: Dict[str, Any]) -> str:
    return f"{tensor['name']} {tensor['dtype']}{tensor['shape']} in {tensor['record']}"
