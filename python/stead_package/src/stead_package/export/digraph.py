"""A directed graph whose nodes and edges are in the order in which they were added."""

from __future__ import annotations

from collections import deque
from typing import Any, Dict, Hashable, Iterator, List, Optional, Set, Tuple


class DiGraph:
    """Nodes with attributes, and edges without."""

    def __init__(self) -> None:
        self._nodes: Dict[Hashable, Dict[str, Any]] = {}
        self._successors: Dict[Hashable, Dict[Hashable, None]] = {}
        self._predecessors: Dict[Hashable, Dict[Hashable, None]] = {}

    def add_node(self, node: Hashable, **attributes: Any) -> None:
        """Adds a node, or adds to and replaces attributes of one that is there."""
        if node not in self._nodes:
            self._nodes[node] = {}
            self._successors[node] = {}
            self._predecessors[node] = {}
        self._nodes[node].update(attributes)

    def add_edge(self, start: Hashable, end: Hashable) -> None:
        """Adds an edge, and its nodes if they are new."""
        self.add_node(start)
        self.add_node(end)
        self._successors[start][end] = None
        self._predecessors[end][start] = None

    def successors(self, node: Hashable) -> Iterator[Hashable]:
        """Nodes to which edges lead from this one.

        Raises:
            ValueError: no such node.
        """
        return iter(list(self._known(node, self._successors)))

    def predecessors(self, node: Hashable) -> Iterator[Hashable]:
        """Nodes from which edges lead to this one.

        Raises:
            ValueError: no such node.
        """
        return iter(list(self._known(node, self._predecessors)))

    def _known(self, node: Hashable, table: Dict[Hashable, Dict[Hashable, None]]) -> Dict[Hashable, None]:
        if node not in table:
            raise ValueError(f"node {node!r} is not in the graph")
        return table[node]

    @property
    def nodes(self) -> Dict[Hashable, Dict[str, Any]]:
        """Attributes by node."""
        return self._nodes

    @property
    def edges(self) -> Iterator[Tuple[Hashable, Hashable]]:
        """All edges."""
        for start, ends in self._successors.items():
            for end in ends:
                yield start, end

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._nodes)

    def __contains__(self, node: Any) -> bool:
        try:
            return node in self._nodes
        except TypeError:
            return False  # what cannot be hashed was never added

    def forward_transitive_closure(self, node: Hashable) -> Set[Hashable]:
        """All nodes that can be reached from this one, itself included."""
        return set(self._closure(node, self._successors))

    def backward_transitive_closure(self, node: Hashable) -> Set[Hashable]:
        """All nodes from which this one can be reached, itself included."""
        return set(self._closure(node, self._predecessors))

    def _closure(self, node: Hashable, table: Dict[Hashable, Dict[Hashable, None]]) -> List[Hashable]:
        self._known(node, table)
        reached: Dict[Hashable, None] = {node: None}
        pending = deque([node])
        while pending:
            for other in table[pending.popleft()]:
                if other not in reached:
                    reached[other] = None
                    pending.append(other)
        return list(reached)

    def first_path(self, node: Hashable) -> List[Hashable]:
        """A shortest path to this node from one to which no edge leads; the node alone if a cycle has no such start."""
        came_from: Dict[Hashable, Optional[Hashable]] = {node: None}
        pending = deque([node])
        while pending:
            here = pending.popleft()
            before = list(self._known(here, self._predecessors))
            if not before:
                path = [here]
                while came_from[path[-1]] is not None:
                    path.append(came_from[path[-1]])  # type: ignore[arg-type]
                return path
            for other in before:
                if other not in came_from:
                    came_from[other] = here
                    pending.append(other)
        return [node]

    def all_paths(self, src: Hashable, dst: Hashable) -> str:
        """The part of the graph that lies on paths between two nodes, as dot."""
        part = DiGraph()
        backward = self.backward_transitive_closure(dst) if dst in self else set()
        if src in self and src in backward:
            on_way = self.forward_transitive_closure(src) & backward
            for start, end in self.edges:
                if start in on_way and end in on_way:
                    part.add_edge(start, end)
        return part.to_dot()

    def to_dot(self) -> str:
        """The graph in the language of Graphviz."""
        quoted = {node: '"' + str(node).replace("\\", "\\\\").replace('"', '\\"') + '"' for node in self._nodes}
        lines = [f"{quoted[node]};" for node in self._nodes]
        lines += [f"{quoted[start]} -> {quoted[end]};" for start, end in self.edges]
        return "digraph G {\nrankdir = LR;\nnode [shape=box];\n" + "\n".join(lines) + "\n}\n"
