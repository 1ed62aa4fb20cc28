"""Where a package is written: a stream of the caller, or a path at which it appears when it is complete."""

from __future__ import annotations

import itertools
import os
import weakref
from pathlib import Path
from typing import Any, Optional

from .zip_writer import ZipWriter

_numbers = itertools.count()


class Output:
    """A zip file in the making.

    Attributes:
        zip: what entries are written to.
    """

    def __init__(self, target: Any) -> None:
        self._path: Optional[Path] = None
        self._partial: Optional[Path] = None
        self._stream = target
        if isinstance(target, (str, os.PathLike)):
            self._path = Path(os.fspath(target))
            # Several exporters may write to one path.
            self._partial = self._path.with_name(f"{self._path.name}.{os.getpid()}-{next(_numbers)}.partial")
            self._stream = open(self._partial, "xb")
        self.zip = ZipWriter(self._stream)
        self._discard = weakref.finalize(self, _discard, self._stream, self._partial)

    def commit(self) -> None:
        """Completes the file, and lets it appear at its path."""
        self.zip.finish()
        self._discard.detach()
        if self._path and self._partial:
            self._stream.close()
            os.replace(self._partial, self._path)

    def abandon(self) -> None:
        """Leaves nothing at a path, and a readable zip file without a manifest in a stream."""
        if not self._partial:
            self.zip.finish()
        self._discard()


def _discard(stream: Any, partial: Optional[Path]) -> None:
    if partial is not None:
        stream.close()
        partial.unlink()
