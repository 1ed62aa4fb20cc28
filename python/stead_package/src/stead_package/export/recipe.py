"""Making a package as a recipe says: `stead package build`."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import sys
import warnings
from pathlib import Path
from typing import Any, Dict, List

from ..errors import PackageError
from ..importer import attribute_of
from .package_exporter import PackageExporter, PackagingWarning

_ACTIONS = ("intern", "extern", "mock", "deny")


def build(recipe_json: str, output: str) -> List[str]:
    """Writes a package.

    Args:
        recipe_json: an object with the fields `path`, `rules`, `modules`, `pickles`, `files`, `entry_points`, `examples`,
            `bundles`, `requires_python` and `environment`; docs/python-packages.md describes each.

    Returns:
        What the package may lack.

    Raises:
        PackageError: the recipe makes no package, or one of its modules cannot be packaged.
        pickle.PicklingError: naming what in an object cannot be pickled.
    """
    recipe = json.loads(recipe_json)
    sys.path[:0] = recipe["path"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PackagingWarning)  # they are returned
        with PackageExporter(output) as exporter:
            _fill(exporter, recipe)
    return exporter.warnings


def _fill(exporter: PackageExporter, recipe: Dict[str, Any]) -> None:
    for requirement in recipe["bundles"]:
        exporter.bundle(requirement)
    for rule in recipe["rules"] or _own_rules(recipe):
        _add_rule(exporter, rule)
    if recipe["requires_python"]:
        exporter.require_python(recipe["requires_python"])
    if recipe["environment"]:
        exporter.set_environment(recipe["environment"])
    for module in recipe["modules"]:
        exporter.save_module(module)
    for place, file in recipe["files"].items():
        exporter.save_binary(*_resource(place), Path(file).read_bytes())
    objects = {place: _object(target) for place, target in recipe["pickles"].items()}
    for place, obj in objects.items():
        exporter.save_pickle(*_resource(place), obj)
    for name, target in recipe["entry_points"].items():
        exporter.save_entry_point(name, target)
    for example in recipe["examples"]:
        _save_example(exporter, recipe, objects, example)


def _own_rules(recipe: Dict[str, Any]) -> List[Dict[str, Any]]:
    """Without rules: the packages of what is named are packaged, and everything else is taken from outside."""
    targets = [*recipe["modules"], *recipe["pickles"].values(), *recipe["entry_points"].values()]
    roots = sorted({t.partition(":")[0].partition(".")[0] for t in targets if "/" not in t.partition(":")[0]})
    intern = [{"intern": [f"{root}.**" for root in roots]}] if roots else []
    return [*intern, {"extern": ["**"]}]


def _add_rule(exporter: PackageExporter, rule: Dict[str, Any]) -> None:
    action = next(action for action in _ACTIONS if rule.get(action))
    options = {} if action == "deny" else {"allow_empty": rule.get("allow_empty", True)}
    getattr(exporter, action)(rule[action], exclude=rule.get("exclude") or (), **options)


def _resource(place: str) -> List[str]:
    folder, slash, name = place.rpartition("/")
    if not slash:
        raise PackageError(f"{place!r}: write package/resource, as in model/weights.pkl")
    return [folder.replace("/", "."), name]


def _object(target: str) -> Any:
    """`module:object`, or `module:function()` for what a function returns."""
    module, colon, name = target.partition(":")
    if not colon or not name:
        raise PackageError(f"{target!r}: write module:object, or module:function() for what a function returns")
    is_call = name.endswith("()")
    found = attribute_of(importlib.import_module(module), name[:-2] if is_call else name)
    return found() if is_call else found


def _save_example(
    exporter: PackageExporter, recipe: Dict[str, Any], objects: Dict[str, Any], example: Dict[str, Any]
) -> None:
    name, entry_point = example["name"], example["entry_point"]
    target = recipe["entry_points"].get(entry_point)
    if target is None:
        raise PackageError(f"example {name!r}: there is no entry point {entry_point!r}")
    inputs = example["inputs"]
    if isinstance(inputs, str):
        inputs = _object(inputs)
    place, _, attribute = target.partition(":")
    if "/" not in place:
        function = _object(target)
    elif place in objects:
        function = attribute_of(objects[place], attribute) if attribute else objects[place]
    else:
        raise PackageError(f"entry point {entry_point!r}: {place} is not among the pickles")
    outputs = function(**inputs) if isinstance(inputs, dict) else function(*inputs)
    if inspect.iscoroutine(outputs):
        outputs = asyncio.run(outputs)
    tolerances = {key: example[key] for key in ("rtol", "atol") if example.get(key) is not None}
    exporter.save_example(name, inputs, outputs, entry_point=entry_point, **tolerances)
