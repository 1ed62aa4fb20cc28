from stead import Tensor

from .common import BothWays, numpy


class Tensors(BothWays):
    def test_values_of_python_become_cells(self):
        for kind, value, literal in [
            ("double", 5, "5"),
            ("tensor(x[2])", [1, 2.5], "tensor(x[2]):[1,2.5]"),
            ("tensor(x[],y[])", [[1, 2], [3, 4]], "tensor(x[2],y[2]):[[1,2],[3,4]]"),
            ("tensor(x[2],y[2])", [1, 2, 3, 4], "tensor(x[2],y[2]):[[1,2],[3,4]]"),
            ("tensor<float>(x[1])", [0.1], "tensor<float>(x[1]):[0.1]"),
            ("tensor(x{})", {"a": 1, 2: 3}, "tensor(x{}):{2:3,a:1}"),
            ("tensor<int8>(k{},x[])", {"a": [1, 2]}, "tensor<int8>(k{},x[2]):{a:[1,2]}"),
            ("tensor(a{},b{})", {("p", "q"): 1}, "tensor(a{},b{}):{{a:p,b:q}:1}"),
            ("tensor(x{})", {}, "tensor(x{}):{}"),
            ("tensor<float>(x[2])", Tensor("tensor(x[2])", [1, 0.1]), "tensor<float>(x[2]):[1,0.1]"),
        ]:
            self.assertEqual(Tensor(kind, value).to_literal(), literal)

    def test_values_that_do_not_fit_are_refused(self):
        for kind, value, message in [
            ("tensor(x[2])", [1], "has size 2, not 1"),
            ("tensor(x[2],y[])", [[1, 2], [3]], "the same length"),
            ("tensor(x[1])", 5, "has 1 indexed dimensions, not 0"),
            ("tensor(x{})", [1], "expected labels with the cells of tensor(x{}), found list"),
            ("tensor(a{},b{})", {"p": 1}, "has 2 mapped dimensions"),
            ("tensor(k{},x[])", {}, "the sizes of tensor(k{},x[]) are in no cell"),
            ("tensor(k{},x[])", {"a": [1], "b": [1, 2]}, "has size 1, not 2"),
            ("tensor(x[2])", Tensor("tensor(y[2])", [1, 2]), "expected a tensor(x[2]), found a tensor(y[2])"),
            ("tensor<uint8>(x[1])", [256], "256 is no uint8"),
            ("tensor(x{})", {"a": 1, ("a",): 2}, "stands twice"),
        ]:
            self.refused(message, Tensor, kind, value)
        self.refused("a cell is a number, not str", Tensor, "tensor(x[1])", ["one"], error=TypeError)

    def test_cells_by_address(self):
        tensor = Tensor("tensor(k{},x[2],y[2])", {"a": [[1, 2], [3, 4]], "b": [[5, 6], [7, 8]]})
        self.assertEqual(tensor.value(k="b", x=1, y="0"), 7.0)
        self.assertEqual(len(tensor), 8)
        self.assertEqual(tensor.cells()[3], ({"k": "a", "x": "1", "y": "1"}, 4.0))
        for address in [{"k": "c", "x": 0, "y": 0}, {"k": "a", "x": 2, "y": 0}, {"k": "a", "x": 0}, {"z": 1}]:
            with self.assertRaises(KeyError):
                tensor.value(**address)
        self.assertEqual(float(Tensor("double", 2)), 2.0)
        self.refused("is no number", float, tensor, error=TypeError)

    def test_dimensions_are_renamed_added_and_sliced(self):
        tokens = Tensor("tensor<int8>(tokens[3])", [4, 5, 6])
        whole = tokens.rename({"tokens": "d1"}).with_dimension("d0")
        self.assertEqual(whole.to_literal(), "tensor<int8>(d0[1],d1[3]):[[4,5,6]]")
        self.assertEqual(whole.slice(d0=0), tokens.rename({"tokens": "d1"}))
        self.assertEqual(whole.slice(d0=0, d1=2).to_literal(), "6")
        mixed = Tensor("tensor(a{},b{},x[2])", {("p", "q"): [1, 2], ("r", "s"): [3, 4]})
        self.assertEqual(mixed.slice(a="r").to_literal(), "tensor(b{},x[2]):{s:[3,4]}")
        self.assertEqual(mixed.slice(x=1).to_literal(), "tensor(a{},b{}):{{a:p,b:q}:2,{a:r,b:s}:4}")
        self.assertEqual(mixed.rename({"a": "z"}).labels, (("q", "p"), ("s", "r")))
        self.refused("has no dimension z", mixed.slice, z=1)
        self.refused("has no dimension z", mixed.rename, {"z": "a"})
        self.refused("5 is no index along x[2]", mixed.slice, x=5, error=KeyError)

    def test_equal_tensors(self):
        a = Tensor("tensor(x{})", {"a": 1, "b": float("nan")})
        self.assertEqual(a, Tensor("tensor(x{})", {"b": float("nan"), "a": 1}))
        for other in [{"a": 1}, {"a": 1, "b": 2}, {"a": 1, "c": float("nan")}]:
            self.assertNotEqual(a, Tensor("tensor(x{})", other))
        self.assertNotEqual(a, Tensor("tensor<float>(x{})", {"a": 1, "b": float("nan")}))
        self.assertNotEqual(a, 5)
        self.assertIn("tensor(x{}):{a:1,b:NaN}", repr(a))


class Arrays(BothWays):
    only_with_numpy = True

    def setUp(self):
        self.np = numpy()

    def test_dense_tensors_are_views_of_arrays(self):
        array = self.np.arange(6, dtype="float32").reshape(2, 3)
        array.flags.writeable = False
        tensor = Tensor.from_numpy(array, ["y", "z"])
        self.assertEqual(str(tensor.type), "tensor<float>(y[2],z[3])")
        self.assertTrue(self.np.shares_memory(tensor.to_numpy(), array))
        self.assertEqual(tensor.to_numpy().tolist(), array.tolist())
        self.assertFalse(tensor.to_numpy().flags.writeable)
        self.assertEqual(str(Tensor.from_numpy(array).type), "tensor<float>(d0[2],d1[3])")
        turned = Tensor.from_numpy(array, ["z", "y"])
        self.assertEqual(turned.to_numpy().tolist(), array.T.tolist())
        self.assertEqual(turned.rename({"y": "a", "z": "A"}).to_numpy().tolist(), array.tolist())
        self.assertEqual(float(Tensor.from_numpy(self.np.float64(3))), 3.0)

    def test_what_others_write_to_is_copied(self):
        array = self.np.zeros(3)
        for tensor in [Tensor.from_numpy(array), Tensor("tensor(x[])", array)]:
            array[0] = 5
            self.assertEqual(tensor.to_numpy()[0], 0)
            array[0] = 0

    def test_blocks_are_views(self):
        tensor = Tensor("tensor<float>(k{},x[2])", {"a": [1, 2], "b": self.np.array([3, 4], dtype="int16")})
        self.assertEqual(tensor.block("b").tolist(), [3, 4])
        self.assertEqual(
            [(labels, block.tolist()) for labels, block in tensor.blocks()], [(("a",), [1, 2]), (("b",), [3, 4])]
        )
        self.refused("no block c", tensor.block, "c", error=KeyError)
        self.refused("has mapped dimensions", tensor.to_numpy)

    def test_every_type_of_elements(self):
        for dtype, cell in [
            ("float64", "double"),
            ("float32", "float"),
            ("float16", "float16"),
            ("int8", "int8"),
            ("int16", "int16"),
            ("int32", "int32"),
            ("int64", "int64"),
            ("uint8", "uint8"),
            ("bool", "bool"),
        ]:
            array = self.np.array([0, 1, 1], dtype=dtype)
            tensor = Tensor.from_numpy(array)
            self.assertEqual((tensor.type.cell, tensor.to_numpy().dtype), (cell, array.dtype))
            self.assertEqual(Tensor.from_binary(tensor.to_binary()), tensor)
        self.refused("no tensor has cells of uint32", Tensor.from_numpy, self.np.zeros(1, "uint32"), error=TypeError)
        self.refused("no tensor has cells of object", Tensor, "tensor(x[1])", self.np.array([None]), error=TypeError)
        self.refused("300 is no uint8", Tensor, "tensor<uint8>(x[1])", self.np.array([300]))
        self.assertEqual(
            Tensor("tensor<bfloat16>(x[1])", self.np.array([0.1])).to_numpy()[0], self.np.float32(0.10009765625)
        )
