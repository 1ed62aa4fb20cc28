import unittest

from stead import TensorType

from .common import BothWays


class TensorTypes(BothWays):
    def test_types_are_printed_as_they_are_written(self):
        for text, printed in [
            ("double", "double"),
            ("tensor()", "double"),
            ("tensor<float>()", "double"),
            ("tensor(x{})", "tensor(x{})"),
            ("tensor<float>(y[3],x[ ])", "tensor<float>(x[],y[3])"),
            ("tensor<double>(x[3])", "tensor(x[3])"),
            (" tensor < int8 > ( x [ 16 ] , y { } ) ", "tensor<int8>(x[16],y{})"),
        ]:
            self.assertEqual(str(TensorType.from_spec(text)), printed, text)
            self.assertEqual(TensorType.from_spec(printed), TensorType.from_spec(text))

    def test_what_is_no_type_is_refused(self):
        for text, message in [
            ("tensor", "expected a tensor type"),
            ("tensor<real>(x{})", "unknown cell type real; known are double, float, bfloat16, int8, float16"),
            ("tensor(x)", "expected a dimension such as x[3] or x{}"),
            ("tensor(x[-1])", "found 'x[-1]'"),
            ("tensor(x[2],)", "expected a dimension"),
            ("tensor(x[],x[2])", "dimension x stands twice"),
            ("tensor(x[0])", "dimension x has size 0"),
            ("tensor(x[1000000],y[1000000])", "a block is larger than 67108864 cells at dimension y"),
            ("tensor(" + ",".join(f"d{n}[1]" for n in range(17)) + ")", "at most 16 dimensions, not 17"),
            ("double x", "expected a tensor type"),
        ]:
            self.refused(message, TensorType.from_spec, text)

    def test_sizes_are_bound_and_types_take_others(self):
        kind = TensorType.from_spec("tensor<float>(a{},x[],y[2])")
        self.assertFalse(kind.is_bound)
        self.assertEqual(str(kind.bound([3, 2])), "tensor<float>(a{},x[3],y[2])")
        self.refused("dimension y of", kind.bound, [3, 3])
        self.refused("has 2 indexed dimensions, not 1", kind.bound, [3])
        self.assertTrue(kind.takes(kind.bound([3, 2])))
        for other in [
            "tensor(a{},x[3],y[2])",
            "tensor<float>(x[3],y[2])",
            "tensor<float>(a{},x[3],z[2])",
            "tensor<float>(a[1],x[3],y[2])",
        ]:
            self.assertFalse(kind.takes(TensorType.from_spec(other)), other)


if __name__ == "__main__":
    unittest.main()
