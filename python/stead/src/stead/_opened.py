"""Files of models: in the package of the code that opens them, or on disk."""

import io
import os

from .errors import HostError


class Place:
    """Where a model lies, as seen from the code of a frame."""

    def __init__(self, name, caller):
        self._name = name
        self._importer = caller.f_globals.get("__loader__")
        # The folder of the package in which the model was found.
        self._found = None
        package = caller.f_globals.get("__package__") or ""
        if self._is_packaged():
            prefix = self._importer.id() + "."
            package = package[len(prefix) :] if package.startswith(prefix) else ""
        self._package = package

    def _is_packaged(self):
        return hasattr(self._importer, "view_binary")

    def read(self):
        """The bytes of the model."""
        if not self._is_packaged():
            with io.open(self._name, "rb") as file:
                return file.read()
        folder, _, resource = self._name.rpartition("/")
        folder = folder.replace("/", ".")
        # From the root of the package, or beside the code.
        places = [folder, ".".join(filter(None, [self._package, folder]))]
        for self._found in places[:-1]:
            try:
                return self._importer.view_binary(self._found, resource)
            except FileNotFoundError:
                pass
        self._found = places[-1]
        return self._importer.view_binary(self._found, resource)

    def beside(self, location):
        """The bytes of a file by its path from the folder of the model, in which it has to be.

        Raises:
            HostError: it is not there, or the path leads elsewhere.
        """
        parts = [part for part in location.split("/") if part not in ("", ".")]
        if not parts or ".." in parts or location.startswith("/") or any(c in location for c in "\\:\0"):
            raise HostError(f"model {self._name}: its external data {location!r} leaves the model's folder", "invalid")
        try:
            if self._is_packaged():
                return self._importer.view_binary(self._found, "/".join(parts))
            return self._on_disk(parts, location)
        except FileNotFoundError:
            raise HostError(
                f"model {self._name}: its external data {location!r} is not beside it", "not_found"
            ) from None

    def _on_disk(self, parts, location):
        folder = os.path.realpath(os.path.dirname(self._name) or ".")
        path = os.path.realpath(os.path.join(folder, *parts))
        if os.path.commonpath([folder, path]) != folder:
            raise HostError(f"model {self._name}: its external data {location!r} leaves the model's folder", "invalid")
        with io.open(path, "rb") as file:
            return file.read()
