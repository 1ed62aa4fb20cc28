"""Types of tensors."""

import re

from ._cells import CELL_TYPES

MAX_DIMENSIONS = 16
MAX_BLOCK = 1 << 26

_NAME = r"[A-Za-z0-9_]+"
_SPEC = re.compile(rf"\s*tensor\s*(?:<\s*({_NAME})\s*>\s*)?\((.*)\)\s*", re.DOTALL)
_DIMENSION = re.compile(rf"\s*({_NAME})\s*(?:(\{{\s*\}})|\[\s*([0-9]*)\s*\])\s*")


class Dimension:
    """A named dimension: mapped (`x{}`), indexed (`x[3]`), or indexed with a size that each tensor has of its own
    (`x[]`)."""

    __slots__ = ("name", "is_mapped", "size")

    def __init__(self, name, is_mapped=False, size=None):
        self.name, self.is_mapped, self.size = name, is_mapped, size

    def __str__(self):
        if self.is_mapped:
            return f"{self.name}{{}}"
        return f"{self.name}[{'' if self.size is None else self.size}]"

    def __repr__(self):
        return f"Dimension({str(self)!r})"

    def __eq__(self, other):
        return isinstance(other, Dimension) and str(self) == str(other)

    def __hash__(self):
        return hash(str(self))


class TensorType:
    """A cell type and a set of dimensions, in the order of their names. Without dimensions it is a number."""

    __slots__ = ("cell", "dimensions", "mapped", "indexed")

    def __init__(self, cell="double", dimensions=()):
        if cell not in CELL_TYPES:
            raise ValueError(f"unknown cell type {cell}; known are {', '.join(CELL_TYPES)}")
        dimensions = tuple(sorted(dimensions, key=lambda d: d.name))
        if len(dimensions) > MAX_DIMENSIONS:
            raise ValueError(f"a tensor type has at most {MAX_DIMENSIONS} dimensions, not {len(dimensions)}")
        block = 1
        for at, dimension in enumerate(dimensions):
            if at and dimensions[at - 1].name == dimension.name:
                raise ValueError(f"dimension {dimension.name} stands twice")
            if dimension.size == 0:
                raise ValueError(f"dimension {dimension.name} has size 0")
            block *= dimension.size or 1
            if block > MAX_BLOCK:
                raise ValueError(f"a block is larger than {MAX_BLOCK} cells at dimension {dimension.name}")
        self.cell = cell if dimensions else "double"
        self.dimensions = dimensions
        self.mapped = tuple(d for d in dimensions if d.is_mapped)
        self.indexed = tuple(d for d in dimensions if not d.is_mapped)

    @staticmethod
    def from_spec(spec):
        """A type from its text: `tensor<float>(x[3],y{})`, `double`."""
        if isinstance(spec, TensorType):
            return spec
        if spec.strip() == "double":
            return TensorType()
        found = _SPEC.fullmatch(spec)
        if not found:
            raise ValueError(f"expected a tensor type such as tensor<float>(x[3],y{{}}), found {spec!r}")
        dimensions = []
        for part in found[2].split(",") if found[2].strip() else ():
            dimension = _DIMENSION.fullmatch(part)
            if not dimension:
                raise ValueError(f"expected a dimension such as x[3] or x{{}} in {spec!r}, found {part.strip()!r}")
            size = int(dimension[3]) if dimension[3] else None
            dimensions.append(Dimension(dimension[1], bool(dimension[2]), size))
        return TensorType(found[1] or "double", dimensions)

    @property
    def is_double(self):
        """Whether it is a number."""
        return not self.dimensions

    @property
    def is_dense(self):
        """Whether it has no mapped dimension, and so one block."""
        return not self.mapped

    @property
    def is_bound(self):
        """Whether all sizes are known."""
        return all(d.size is not None for d in self.indexed)

    @property
    def shape(self):
        """The sizes of the indexed dimensions; None where one is not known."""
        return tuple(d.size for d in self.indexed)

    @property
    def block_size(self):
        """The cells of a block, along the dimensions whose sizes are known."""
        size = 1
        for d in self.indexed:
            size *= d.size or 1
        return size

    def dimension(self, name):
        """The dimension of a name, or None."""
        return next((d for d in self.dimensions if d.name == name), None)

    def bound(self, shape):
        """The same with these sizes of the indexed dimensions; ValueError where a known one is another."""
        shape = tuple(shape)
        if len(shape) != len(self.indexed):
            raise ValueError(f"{self} has {len(self.indexed)} indexed dimensions, not {len(shape)}")
        sizes = {}
        for d, size in zip(self.indexed, shape):
            if d.size not in (None, size):
                raise ValueError(f"dimension {d.name} of {self} has size {d.size}, not {size}")
            sizes[d.name] = size
        return TensorType(
            self.cell, [d if d.is_mapped else Dimension(d.name, False, sizes[d.name]) for d in self.dimensions]
        )

    def takes(self, other):
        """Whether a tensor of the other type is one of this: same cells and dimensions, any size where none is
        known."""
        return (
            self.cell == other.cell
            and len(self.dimensions) == len(other.dimensions)
            and all(
                a.name == b.name and a.is_mapped == b.is_mapped and a.size in (None, b.size)
                for a, b in zip(self.dimensions, other.dimensions)
            )
        )

    def with_cell(self, cell):
        """The same dimensions with other cells."""
        return TensorType(cell, self.dimensions)

    def __str__(self):
        if not self.dimensions:
            return "double"
        cell = "" if self.cell == "double" else f"<{self.cell}>"
        return f"tensor{cell}({','.join(map(str, self.dimensions))})"

    def __repr__(self):
        return f"TensorType.from_spec({str(self)!r})"

    def __eq__(self, other):
        return isinstance(other, TensorType) and str(self) == str(other)

    def __hash__(self):
        return hash(str(self))
