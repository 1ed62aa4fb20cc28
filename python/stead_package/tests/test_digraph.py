"""The graph of dependencies."""

import unittest
import xml.etree.ElementTree as ElementTree

from . import common  # noqa: F401
from stead_package.export.digraph import DiGraph
from stead_package.export.graph_svg import graph_svg


def graph(*edges):
    made = DiGraph()
    for start, end in edges:
        made.add_edge(start, end)
    return made


class TestDiGraph(unittest.TestCase):
    def test_successors(self):
        made = graph(("foo", "bar"), ("foo", "baz"))
        made.add_node("qux")
        self.assertEqual(list(made.successors("foo")), ["bar", "baz"])
        self.assertEqual(list(made.successors("qux")), [])

    def test_successor_not_in_graph(self):
        with self.assertRaisesRegex(ValueError, "'not in graph'"):
            graph().successors("not in graph")

    def test_predecessors(self):
        made = graph(("foo", "bar"), ("baz", "bar"))
        made.add_node("qux")
        self.assertEqual(list(made.predecessors("bar")), ["foo", "baz"])
        self.assertEqual(list(made.predecessors("qux")), [])

    def test_predecessor_not_in_graph(self):
        with self.assertRaises(ValueError):
            graph().predecessors("not in graph")

    def test_node_attrs(self):
        made = DiGraph()
        made.add_node("foo", my_attr=1, other_attr=2)
        self.assertEqual(made.nodes["foo"], {"my_attr": 1, "other_attr": 2})

    def test_node_attr_update(self):
        made = DiGraph()
        made.add_node("foo", my_attr=1, kept=2)
        made.add_node("foo", my_attr="different")
        made.add_edge("foo", "bar")
        self.assertEqual(made.nodes["foo"], {"my_attr": "different", "kept": 2})

    def test_edges(self):
        made = graph((1, 2), (2, 3), (1, 3), (4, 5), (1, 2))
        self.assertEqual(list(made.edges), [(1, 2), (1, 3), (2, 3), (4, 5)])

    def test_iter(self):
        made = graph((1, 2), (2, 3))
        made.add_node(0)
        self.assertEqual(list(made), [1, 2, 3, 0])

    def test_contains(self):
        made = graph(("yup", "here"))
        self.assertIn("yup", made)
        self.assertNotIn("nup", made)

    def test_contains_non_hashable(self):
        self.assertNotIn([1, 2, 3], graph((1, 2)))

    def test_forward_closure(self):
        made = graph(("1", "2"), ("2", "3"), ("5", "4"), ("4", "3"), ("3", "2"))
        self.assertEqual(made.forward_transitive_closure("1"), {"1", "2", "3"})
        self.assertEqual(made.forward_transitive_closure("4"), {"4", "3", "2"})
        self.assertEqual(made.backward_transitive_closure("4"), {"4", "5"})

    def test_all_paths(self):
        made = graph(("1", "2"), ("1", "7"), ("7", "8"), ("8", "3"), ("2", "3"), ("5", "4"), ("4", "3"), ("9", "10"))
        dot = made.all_paths("1", "3")
        for edge in ['"1" -> "2"', '"1" -> "7"', '"7" -> "8"', '"8" -> "3"', '"2" -> "3"']:
            self.assertIn(edge, dot)
        for node in ['"5"', '"4"', '"9"']:
            self.assertNotIn(node, dot)

    def test_all_paths_without_a_path(self):
        made = graph(("1", "2"), ("3", "2"))
        for start, end in [("1", "3"), ("nowhere", "2"), ("1", "nowhere")]:
            self.assertNotIn("->", made.all_paths(start, end))

    def test_first_path_is_a_shortest_one(self):
        made = graph(("root", "a"), ("a", "b"), ("b", "end"), ("root", "b"))
        self.assertEqual(made.first_path("end"), ["root", "b", "end"])

    def test_first_path_in_a_cycle_ends(self):
        self.assertEqual(graph(("a", "b"), ("b", "a")).first_path("a"), ["a"])

    def test_dot_quotes_names(self):
        made = DiGraph()
        made.add_node('say "hi"')
        self.assertIn('"say \\"hi\\""', made.to_dot())


class TestSvg(unittest.TestCase):
    def boxes(self, made):
        root = ElementTree.fromstring(graph_svg(made))
        space = {"s": "http://www.w3.org/2000/svg"}
        return {
            box.find("s:text", space).text: float(box.find("s:rect", space).get("x"))
            for box in root.findall("s:g", space)
        }, len(root.findall("s:path", space))

    def test_layers_follow_the_edges(self):
        boxes, arrows = self.boxes(graph(("pickle", "a"), ("a", "b"), ("pickle", "b"), ("b", "<c>")))
        self.assertEqual(set(boxes), {"pickle", "a", "b", "<c>"})
        self.assertTrue(boxes["pickle"] < boxes["a"] < boxes["b"] < boxes["<c>"])
        self.assertEqual(arrows, 4)

    def test_cycles_are_drawn(self):
        boxes, arrows = self.boxes(graph(("a", "b"), ("b", "c"), ("c", "a"), ("c", "c")))
        self.assertEqual(len(boxes), 3)
        self.assertEqual(arrows, 3)

    def test_an_empty_graph_is_a_drawing(self):
        self.assertEqual(self.boxes(DiGraph()), ({}, 0))

    def test_a_long_chain_needs_no_recursion(self):
        boxes, _ = self.boxes(graph(*((str(i), str(i + 1)) for i in range(5000))))
        self.assertEqual(len(boxes), 5001)


if __name__ == "__main__":
    unittest.main()
