"""What reading a package can fail with. Texts name the package and what to do."""

from __future__ import annotations


class PackageError(Exception):
    """Any failure of this library that is not an ordinary import error."""


class ArchiveError(PackageError, ValueError):
    """The bytes are not a package, are damaged, or hold what a package must not hold."""


class ResourceNotFoundError(PackageError, FileNotFoundError):
    """The package has no file of that name."""


class UnsupportedError(PackageError, NotImplementedError):
    """The package needs something that this library does not do, named in the text."""


class EnvironmentMismatchError(PackageError, ImportError):
    """The running interpreter is not one that the package can run in."""
