"""The files of a package as a tree that prints itself."""

from __future__ import annotations

from typing import Dict, Iterable, List

from .glob_group import GlobGroup, GlobPattern

_CORNER, _TEE, _BAR, _DASH = "\u2514", "\u251c", "\u2502", "\u2500"


class Directory:
    """A file, or a folder with its children by name."""

    def __init__(self, name: str, is_dir: bool) -> None:
        self.name = name
        self.is_dir = is_dir
        self.children: Dict[str, Directory] = {}

    def has_file(self, filename: str) -> bool:
        """Whether there is a file at a path below this folder, segments separated by `/`."""
        node = self
        for segment in filename.split("/"):
            if segment not in node.children:
                return False
            node = node.children[segment]
        return not node.is_dir

    def add_file(self, path: str) -> None:
        """Adds a file, and the folders on the way to it."""
        *folders, name = path.split("/")
        node = self
        for folder in folders:
            node = node.children.setdefault(folder, Directory(folder, True))
        node.children[name] = Directory(name, False)

    def __str__(self) -> str:
        lines: List[str] = [_DASH * 3 + " " + self.name]
        self._describe(lines, "    ")
        return "\n".join(lines) + "\n"

    def _describe(self, lines: List[str], indent: str) -> None:
        # Folders first, each kind by name.
        children = sorted(self.children.values(), key=lambda child: (not child.is_dir, child.name))
        for i, child in enumerate(children):
            last = i + 1 == len(children)
            lines.append(f"{indent}{_CORNER if last else _TEE}{_DASH * 2} {child.name}")
            child._describe(lines, indent + ("    " if last else f"{_BAR}   "))


def directory_of(name: str, files: Iterable[str], include: GlobPattern = "**", exclude: GlobPattern = ()) -> Directory:
    """The tree of those files whose paths match, below a root called `name`."""
    wanted = GlobGroup(include, exclude=exclude, separator="/")
    top = Directory(name, True)
    for file in files:
        if wanted.matches(file):
            top.add_file(file)
    return top
