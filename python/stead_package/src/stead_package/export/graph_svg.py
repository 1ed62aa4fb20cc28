"""A drawing of the dependency graph: layers from left to right, arrows between them."""

from __future__ import annotations

from typing import Any, Dict, Hashable, List, Set
from xml.sax.saxutils import escape

from .digraph import DiGraph
from .rules import Action

_ROW, _HEIGHT, _GAP, _CHARACTER, _MARGIN = 34, 24, 70, 7, 12
_SWEEPS = 4
_COLOURS = {
    Action.INTERN: "#d9ead3",
    Action.EXTERN: "#cfe2f3",
    Action.MOCK: "#fff2cc",
    Action.DENY: "#f4cccc",
}
_PLAIN, _BROKEN = "#eeeeee", "#f4cccc"


def graph_svg(graph: DiGraph) -> str:
    """The graph as SVG: interned modules green, extern blue, mocked yellow, broken and denied red, pickles grey."""
    layers = _ordered(graph, _layers(graph))
    boxes: Dict[Hashable, Any] = {}
    x = _MARGIN
    for layer in layers:
        width = max(len(str(node)) for node in layer) * _CHARACTER + 2 * _MARGIN
        for i, node in enumerate(layer):
            boxes[node] = (x, _MARGIN + i * _ROW, width)
        x += width + _GAP
    height = 2 * _MARGIN + _ROW * max((len(layer) for layer in layers), default=0)
    width = max(x - _GAP + _MARGIN, 2 * _MARGIN)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="monospace" '
        'font-size="11">',
        '<defs><marker id="head" markerWidth="8" markerHeight="8" refX="7" refY="3" orient="auto">'
        '<path d="M0,0 L7,3 L0,6 z" fill="#666666"/></marker></defs>',
    ]
    lines += [_arrow(boxes[start], boxes[end]) for start, end in graph.edges if start != end]
    lines += [_box(str(node), boxes[node], graph.nodes[node]) for node in graph.nodes]
    return "\n".join([*lines, "</svg>", ""])


def _layers(graph: DiGraph) -> Dict[Hashable, int]:
    """The length of the longest path to each node, edges that close a cycle left out."""
    order: List[Hashable] = []
    state: Dict[Hashable, int] = {}
    closing: Set[Any] = set()
    for root in graph.nodes:
        if root in state:
            continue
        state[root] = 1
        stack = [(root, graph.successors(root))]
        while stack:
            node, successors = stack[-1]
            for other in successors:
                if state.get(other) == 1:
                    closing.add((node, other))
                elif other not in state:
                    state[other] = 1
                    stack.append((other, graph.successors(other)))
                    break
            else:
                state[node] = 2
                order.append(node)
                stack.pop()
    layer: Dict[Hashable, int] = {node: 0 for node in graph.nodes}
    for node in reversed(order):
        for other in graph.successors(node):
            if (node, other) not in closing:
                layer[other] = max(layer[other], layer[node] + 1)
    return layer


def _ordered(graph: DiGraph, layer: Dict[Hashable, int]) -> List[List[Hashable]]:
    """Nodes of each layer, those that share neighbours near each other: a few sweeps of ordering by mean position."""
    layers: List[List[Hashable]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for node, number in layer.items():
        layers[number].append(node)
    place = {node: i for nodes in layers for i, node in enumerate(nodes)}
    for sweep in range(_SWEEPS):
        neighbours = graph.predecessors if sweep % 2 == 0 else graph.successors
        for nodes in layers if sweep % 2 == 0 else reversed(layers):
            mean = {}
            for node in nodes:
                near = [place[other] for other in neighbours(node)]
                mean[node] = sum(near) / len(near) if near else place[node]
            nodes.sort(key=lambda node: mean[node])
            place.update({node: i for i, node in enumerate(nodes)})
    return layers


def _arrow(start: Any, end: Any) -> str:
    x1, y1 = start[0] + start[2], start[1] + _HEIGHT // 2
    x2, y2 = end[0], end[1] + _HEIGHT // 2
    bend = _GAP // 2
    return (
        f'<path d="M{x1},{y1} C{x1 + bend},{y1} {x2 - bend},{y2} {x2},{y2}" fill="none" stroke="#999999" '
        'marker-end="url(#head)"/>'
    )


def _box(name: str, box: Any, attributes: Dict[str, Any]) -> str:
    x, y, width = box
    colour = _BROKEN if attributes.get("error") else _COLOURS.get(attributes.get("action"), _PLAIN)
    return (
        f'<g><rect x="{x}" y="{y}" width="{width}" height="{_HEIGHT}" rx="4" fill="{colour}" stroke="#666666"/>'
        f'<text x="{x + _MARGIN}" y="{y + 16}">{escape(name)}</text></g>'
    )
