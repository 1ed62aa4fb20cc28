"""Where the native module of the wheel is not, as inside a server."""

import ast
import importlib.util
import pathlib
import unittest

import stead


class Names(unittest.TestCase):
    def test_what_the_list_has_is_what_the_module_imports(self):
        module = pathlib.Path(stead.__file__).with_name("inference") / "__init__.py"
        imports = [node for node in ast.parse(module.read_text()).body if isinstance(node, ast.ImportFrom)]
        names = {alias.name for node in imports if node.module for alias in node.names}
        self.assertEqual(names | {"capi"}, stead._INFERENCE)


@unittest.skipIf(importlib.util.find_spec("stead._engine"), "the native module is here")
class WithoutTheNativeModule(unittest.TestCase):
    def test_names_of_inference_say_what_they_need(self):
        with self.assertRaisesRegex(ImportError, "stead.InferenceSession needs the native module .* stead.Models"):
            stead.InferenceSession("model.onnx")
        with self.assertRaisesRegex(ImportError, "stead.SessionOptions needs"):
            from stead import SessionOptions  # noqa: F401

    def test_other_names_are_as_they_were(self):
        self.assertFalse(hasattr(stead, "NoSuchThing"))
        self.assertNotIn("InferenceSession", stead.__all__)
        names = {}
        exec("from stead import *", names)
        self.assertIn("Searcher", names)


if __name__ == "__main__":
    unittest.main()
