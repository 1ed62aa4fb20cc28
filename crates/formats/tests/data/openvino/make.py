"""Writes the fixtures of OpenVINO IR beside this file: nets, and what OpenVINO computes of them.

Each NAME.xml and NAME.bin come with NAME.json: a list of steps, each with inputs and outputs by name. Versions: README.md.
"""

import json
import pathlib

import numpy as np
import openvino as ov
from openvino.utils.node_factory import NodeFactory
from openvino import opset1, opset3, opset4, opset5, opset6, opset7, opset8, opset13

HERE = pathlib.Path(__file__).parent
RNG = np.random.default_rng(8)
CORE = ov.Core()


def rand(*shape, scale=1.0):
    return (RNG.standard_normal(shape) * scale).astype(np.float32)


def const(value, dtype=None):
    return opset13.constant(np.array(value, dtype=dtype))


def ints(*values):
    return const(list(values), np.int64)


def plain(array):
    return {"type": str(array.dtype), "shape": list(array.shape), "data": array.flatten().tolist()}


def named(node, name, output=0):
    node.output(output).get_tensor().set_names({name})
    return node.output(output)


def save(name, parameters, outputs, steps, sinks=(), fp16=False):
    """`outputs` are pairs of a name and an output."""
    results = []
    for label, value in outputs:
        value = value if isinstance(value, ov.Output) else value.output(0)
        # A node of its own, so that no tensor has two names.
        result = opset13.result(value)
        value.get_tensor().add_names({label})
        results.append(result)
    model = ov.Model(results, list(sinks), list(parameters), name)
    path = HERE / f"{name}.xml"
    ov.save_model(model, path, compress_to_fp16=fp16)
    # What was written is what is asked, in the precision of the file.
    compiled = CORE.compile_model(CORE.read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    recorded = []
    for step in steps:
        if isinstance(step, str):
            request.reset_state()
            recorded.append({"reset": True})
            continue
        got = request.infer(step)
        answers = {output.get_any_name(): plain(np.array(got[output])) for output in compiled.outputs}
        recorded.append({"inputs": {k: plain(v) for k, v in step.items()}, "outputs": answers})
    (HERE / f"{name}.json").write_text(json.dumps(recorded) + "\n")


def parameter(name, shape, dtype=np.float32):
    return opset13.parameter(shape, dtype, name=name)


def mlp():
    """256-512-128-1 would be large; its structure in small, with weights in half precision."""
    x = parameter("x", [-1, 8])
    h = x
    for size, last in [((8, 16), False), ((16, 4), False), ((4, 1), True)]:
        h = opset13.add(opset13.matmul(h, const(rand(*size, scale=0.5)), False, False), const(rand(1, size[1])))
        h = opset13.sigmoid(h) if last else opset13.relu(h)
    save("mlp_fp16", [x], [("score", h)], [{"x": rand(1, 8)}, {"x": rand(5, 8)}], fp16=True)


def elementwise():
    a, b = parameter("a", [2, 3]), parameter("b", [3])
    i, j = parameter("i", [4], np.int32), parameter("j", [4], np.int32)
    o = opset13
    pos = o.add(o.abs(a), const(0.1, np.float32))
    outs = [
        ("add", o.add(a, b)), ("sub", o.subtract(a, b)), ("mul", o.multiply(a, b)), ("div", o.divide(a, b)),
        ("pow", o.power(pos, b)), ("max", o.maximum(a, b)), ("min", o.minimum(a, b)),
        ("sqd", o.squared_difference(a, b)), ("fmod", o.floor_mod(a, b)), ("mod", o.mod(a, b)),
        ("idiv", o.divide(o.abs(i), o.abs(j))), ("ifmod", o.floor_mod(i, j)), ("imod", o.mod(i, j)),
        ("eq", o.equal(i, j)), ("ne", o.not_equal(i, j)), ("gt", o.greater(i, j)), ("ge", o.greater_equal(i, j)),
        ("lt", o.less(i, j)), ("le", o.less_equal(i, j)),
        ("and", o.logical_and(o.greater(i, j), o.equal(i, i))), ("xor", o.logical_xor(o.less(i, j), o.equal(i, i))),
        ("or", o.logical_or(o.greater(i, j), o.equal(i, j))), ("not", o.logical_not(o.equal(i, j))),
        ("select", o.select(o.greater(a, b), a, b)), ("conv", o.convert(a, "i32")), ("like", o.convert_like(i, a)),
        ("exp", o.exp(a)), ("log", o.log(pos)), ("sqrt", o.sqrt(pos)), ("abs", o.abs(a)), ("neg", o.negative(a)),
        ("floor", o.floor(a)), ("ceil", o.ceiling(a)), ("sign", o.sign(a)), ("erf", o.erf(a)),
        ("sin", o.sin(a)), ("cos", o.cos(a)), ("tan", o.tan(a)), ("atan", o.atan(a)), ("asinh", o.asinh(a)),
        ("acosh", o.acosh(o.add(pos, const(1.0, np.float32)))), ("atanh", o.atanh(o.tanh(a))),
        ("sinh", o.sinh(a)), ("cosh", o.cosh(a)), ("asin", o.asin(o.tanh(a))), ("acos", o.acos(o.tanh(a))),
        ("round_even", o.round(o.multiply(o.floor(a), const(0.5, np.float32)), "half_to_even")),
        ("round_away", o.round(o.multiply(o.floor(a), const(0.5, np.float32)), "half_away_from_zero")),
    ]
    step = {"a": rand(2, 3, scale=2), "b": np.array([0.7, -1.3, 2.0], np.float32),
            "i": np.array([7, -7, 7, -6], np.int32), "j": np.array([2, 2, -2, 3], np.int32)}
    save("elementwise", [a, b, i, j], outs, [step])


def activations():
    x, o = parameter("x", [2, 3, 4]), opset13
    f = lambda v: const(v, np.float32)
    outs = [
        ("relu", o.relu(x)), ("sigmoid", o.sigmoid(x)), ("tanh", o.tanh(x)), ("elu", o.elu(x, 0.7)),
        ("gelu2", opset4.gelu(x)), ("gelu_erf", o.gelu(x, "erf")), ("gelu_tanh", o.gelu(x, "tanh")),
        ("clamp", o.clamp(x, -0.5, 0.8)), ("hsigmoid", o.hsigmoid(x)), ("hswish", o.hswish(x)),
        ("hard", o.hard_sigmoid(x, f(0.3), f(0.4))), ("swish", o.swish(x)), ("swish_beta", o.swish(x, f(1.7))),
        ("selu", o.selu(x, f(1.67), f(1.05))), ("prelu1", o.prelu(x, f([0.1, 0.2, 0.3]))),
        ("prelu0", o.prelu(x, f([0.25]))), ("softplus", o.softplus(x)), ("softsign", o.softsign(x)),
        ("mish", o.mish(x)), ("softmax1", opset1.softmax(x, 1)), ("softmax8", o.softmax(x, -1)),
        ("log_softmax", o.log_softmax(x, 2)),
    ]
    save("activations", [x], outs, [{"x": rand(2, 3, 4, scale=2)}])


def shapes():
    x, o = parameter("x", [2, 3, 4]), opset13
    d = parameter("d", [-1, 4])
    at = parameter("at", [2], np.int64)
    split = o.split(x, const(2, np.int64), 2)
    parts = o.variadic_split(x, const(1, np.int64), ints(1, -1))
    open_parts = o.variadic_split(d, const(0, np.int64), ints(1, -1, 1))
    top = o.topk(x, const(2, np.int64), 2, "max", "value")
    outs = [
        ("reshape", o.reshape(x, ints(0, -1), True)), ("squeeze", o.squeeze(o.unsqueeze(x, ints(0, 2)), ints(0))),
        ("transpose", o.transpose(x, ints(2, 0, 1))), ("turned", o.transpose(x, const(np.zeros(0), np.int64))),
        ("shape", o.shape_of(d, "i32")), ("gather", o.gather(x, const([[1, -1]], np.int32), const(1, np.int64))),
        ("elements", o.gather_elements(x, const(np.zeros((2, 3, 2)), np.int32), 2)),
        ("nd", o.gather_nd(x, const([[1, 2], [0, 1]], np.int32))),
        ("split_a", split.output(0)), ("split_b", split.output(1)), ("vs_a", parts.output(0)), ("vs_b", parts.output(1)),
        ("open_a", open_parts.output(0)), ("open_b", open_parts.output(1)), ("open_c", open_parts.output(2)),
        ("concat", o.concat([x, x], -1)), ("tile", o.tile(x, ints(2, 1))), ("tile_long", o.tile(d, ints(2, 1, 2))),
        ("broadcast", o.broadcast(x, ints(2, 2, 3, 4))),
        ("bidirectional", o.broadcast(x, ints(1, 1), broadcast_spec="BIDIRECTIONAL")),
        ("explicit", o.broadcast(const([1, 2, 3], np.float32), ints(2, 3, 4), ints(1), "EXPLICIT")),
        ("pad", o.pad(x, ints(0, 1, 0), ints(0, 0, 2), "constant", const(5, np.float32))),
        ("pad_edge", o.pad(x, ints(0, 1, 0), ints(0, 0, 2), "edge")),
        ("slice", o.slice(x, ints(0, 2), ints(9, -9), ints(1, -1), ints(2, 1))),
        ("strided", o.strided_slice(x, ints(0, 0, 1), ints(0, 2, 4), ints(1, 1, 2), [1, 0, 0], [1, 0, 0])),
        ("shrunk", o.strided_slice(x, ints(-1, 0), ints(0, 2), ints(1, 1), [0, 0], [0, 0], [], [1, 0])),
        ("added", o.strided_slice(x, ints(0, 0, 1), ints(0, 0, 3), ints(1, 1, 1), [0, 1, 0], [0, 1, 0], [1, 0, 0])),
        ("dots", o.strided_slice(x, ints(0, 1), ints(0, 3), ints(1, 1), [0, 0], [0, 0], [], [], [1, 0])),
        ("backwards", o.strided_slice(x, ints(0, 0, 0), ints(0, 0, 0), ints(1, 1, -1), [1, 1, 1], [1, 1, 1])),
        ("computed", o.strided_slice(x, at, o.add(at, ints(1, 2)), ints(1, 1), [0, 0], [0, 0])),
        ("computed_one", o.strided_slice(x, at, o.add(at, ints(1, 2)), ints(1, 1), [0, 0], [0, 0], [], [1, 0])),
        ("d2s", o.depth_to_space(const(rand(1, 8, 2, 2)), "blocks_first", 2)),
        ("d2s_depth", o.depth_to_space(const(rand(1, 8, 2, 2)), "depth_first", 2)),
        ("s2d", o.space_to_depth(const(rand(1, 2, 4, 4)), "blocks_first", 2)),
        ("top_v", top.output(0)), ("top_i", top.output(1)), ("cumsum", o.cum_sum(x, const(1, np.int64), True, True)),
        ("one_hot", o.one_hot(const([1, 2, -1], np.int64), const(3, np.int64), const(2, np.float32), const(-1, np.float32), -1)),
        ("range", o.range(const(1, np.int32), const(9, np.int32), const(3, np.int32), "i64")),
        ("non_zero", o.non_zero(o.floor(x))),
        ("scatter", opset3.scatter_elements_update(x, const(np.zeros((1, 1, 4)), np.int32), const(np.ones((1, 1, 4)), np.float32), const(1, np.int64))),
        ("scatter_nd", opset4.scatter_nd_update(x, const([[1, 2]], np.int32), const([[9, 8, 7, 6]], np.float32))),
    ]
    step = {"x": rand(2, 3, 4, scale=2), "d": rand(5, 4), "at": np.array([1, 1], np.int64)}
    last = {"x": rand(2, 3, 4, scale=2), "d": rand(3, 4), "at": np.array([-2, 0], np.int64)}
    save("shapes", [x, d, at], outs, [step, last])


def interpolate4(x, sizes, scales, **attributes):
    attributes = {"nearest_mode": "floor", "pads_begin": [0, 0], "pads_end": [0, 0], **attributes}
    inputs = [x, ints(*sizes), const(scales, np.float32), ints(2, 3)]
    return NodeFactory("opset4").create("Interpolate", inputs, attributes)


def images():
    x, o = parameter("x", [1, 4, 8, 8]), opset13
    conv = o.convolution(x, const(rand(6, 4, 3, 3, scale=0.3)), [2, 1], [1, 0], [1, 2], [1, 1])
    same = o.convolution(x, const(rand(2, 4, 3, 3, scale=0.3)), [2, 2], [0, 0], [0, 0], [1, 1], "same_upper")
    group = o.group_convolution(x, const(rand(2, 3, 2, 3, 3, scale=0.3)), [1, 1], [1, 1], [1, 1], [1, 1])
    back = o.convolution_backprop_data(x, const(rand(4, 3, 3, 3, scale=0.3)), [2, 2], None, [1, 1], [1, 1], [1, 1], None, [1, 1])
    back_group = o.group_convolution_backprop_data(x, const(rand(2, 2, 3, 3, 3, scale=0.3)), [2, 2], None, [1, 1], [1, 1], [1, 1])
    gamma, beta, mean, var = (const(np.abs(rand(4)) + 0.2) for _ in range(4))
    rates = [const(np.array(v, np.float32)) for v in (-1.0, 1.2, -0.9, 1.1)]
    outs = [
        ("conv", conv), ("same", same), ("group", group), ("back", back), ("back_group", back_group),
        ("max", o.max_pool(x, [2, 2], [1, 1], [0, 0], [0, 0], [3, 3]).output(0)),
        ("max_dilated", o.max_pool(x, [1, 1], [2, 2], [0, 0], [0, 0], [2, 2]).output(0)),
        ("max1", opset1.max_pool(x, [2, 2], [0, 0], [0, 0], [3, 3], "ceil")),
        ("avg", o.avg_pool(x, [2, 2], [1, 1], [1, 1], [3, 3], False)),
        ("avg_exclude", o.avg_pool(x, [2, 2], [1, 1], [1, 1], [3, 3], True)),
        ("batch_norm", o.batch_norm_inference(x, gamma, beta, mean, var, 1e-3)),
        ("batch_norm1", opset1.batch_norm_inference(x, gamma, beta, mean, var, 1e-3)),
        ("mvn6", o.mvn(x, ints(2, 3), True, 1e-5, "inside_sqrt")), ("mvn6_out", o.mvn(x, ints(1), True, 1e-3, "outside_sqrt")),
        ("mvn6_mean", o.mvn(x, ints(2, 3), False, 1e-5, "inside_sqrt")),
        ("mvn2", opset3.mvn(x, across_channels=False, normalize_variance=True, eps=1e-3)),
        ("l2", o.normalize_l2(x, ints(1), 1e-3, "add")), ("l2_max", o.normalize_l2(x, ints(1, 2), 2.0, "max")),
        ("lrn", o.lrn(x, ints(1), 1e-2, 0.6, 1.0, 3)),
        ("group_norm", o.group_normalization(x, gamma, beta, 2, 1e-4)),
        ("fake", o.fake_quantize(x, *rates, 16)),
        ("nearest", interpolate4(x, [12, 5], [1.5, 0.625], mode="nearest", shape_calculation_mode="sizes")),
        ("linear", interpolate4(x, [16, 16], [2, 2], mode="linear_onnx", shape_calculation_mode="scales",
                                coordinate_transformation_mode="align_corners")),
        ("cubic", o.interpolate(x, ints(16, 6), "cubic", "sizes", [0, 0], [0, 0], "half_pixel", "round_prefer_floor", False, -0.5, ints(2, 3))),
    ]
    save("images", [x], outs, [{"x": rand(1, 4, 8, 8)}])


def reductions():
    x, o = parameter("x", [2, 3, 4]), opset13
    flags = o.greater(x, const(0.0, np.float32))
    outs = [(name, getattr(o, name)(x, ints(1, -1), keep)) for name, keep in [
        ("reduce_mean", True), ("reduce_sum", False), ("reduce_max", True), ("reduce_min", False), ("reduce_prod", True),
        ("reduce_l1", False), ("reduce_l2", True)]]
    outs += [
        ("all", o.reduce_logical_and(flags, ints(2), False)), ("any", o.reduce_logical_or(flags, ints(2), True)),
        ("einsum", o.einsum([x, const(rand(4, 5))], "abc,cd->abd")),
        ("matmul_t", o.matmul(x, const(rand(5, 4)), False, True)),
        ("matmul_tt", o.matmul(x, const(rand(2, 3)), True, True)),
        ("vector", o.matmul(x, const(rand(4)), False, True)),
    ]
    save("reductions", [x], outs, [{"x": rand(2, 3, 4)}])


def recurrent():
    """Sequences and cells with states that come from outside."""
    x, o, n = parameter("x", [2, 5, 3]), opset13, 4
    h, h2 = parameter("h", [2, 1, n]), parameter("h2", [2, 2, n])
    lens, short = const([5, 5], np.int32), const([5, 3], np.int32)
    w = lambda gates, d=1, m=3: const(rand(d, gates * n, m, scale=0.5))
    b = lambda gates, d=1: const(rand(d, gates * n, scale=0.5))
    lstm = o.lstm_sequence(x, h, h, lens, w(4), w(4, 1, n), b(4), n, "forward")
    both = o.lstm_sequence(x, h2, h2, short, w(4, 2), w(4, 2, n), b(4, 2), n, "bidirectional")
    gru = o.gru_sequence(x, h, lens, w(3), w(3, 1, n), b(3), n, "reverse")
    gru_l = o.gru_sequence(x, h, lens, w(3), w(3, 1, n), b(4), n, "forward", linear_before_reset=True)
    rnn = o.rnn_sequence(x, h, short, w(1), w(1, 1, n), b(1), n, "forward", ["relu"])
    flat = o.squeeze(h, ints(1))
    row = o.squeeze(o.slice(x, ints(0), ints(1), ints(1), ints(1)), ints(1))
    m = lambda gates, m=3: const(rand(gates * n, m, scale=0.5))
    v = lambda gates: const(rand(gates * n, scale=0.5))
    cell = o.lstm_cell(row, flat, flat, m(4), m(4, n), v(4), n, clip=0.8)
    gcell = o.gru_cell(row, flat, m(3), m(3, n), v(3), n)
    gcell_l = o.gru_cell(row, flat, m(3), m(3, n), v(4), n, linear_before_reset=True)
    rcell = o.rnn_cell(row, flat, m(1), m(1, n), v(1), n, ["tanh"], [], [])
    outs = [("lstm_y", lstm.output(0)), ("lstm_h", lstm.output(1)), ("lstm_c", lstm.output(2)),
            ("both_y", both.output(0)), ("both_h", both.output(1)), ("both_c", both.output(2)),
            ("gru_y", gru.output(0)), ("gru_h", gru.output(1)), ("gru_l_y", gru_l.output(0)),
            ("rnn_y", rnn.output(0)), ("rnn_h", rnn.output(1)),
            ("cell_h", cell.output(0)), ("cell_c", cell.output(1)), ("gcell", gcell), ("gcell_l", gcell_l), ("rcell", rcell)]
    save("recurrent", [x, h, h2], outs, [{"x": rand(2, 5, 3), "h": rand(2, 1, n), "h2": rand(2, 2, n)}])


def iterations():
    """TensorIterator forwards and backwards, Loop and If."""
    o, n = opset13, 4
    x, h = parameter("x", [-1, 5, 3]), parameter("h", [-1, n])
    scale = parameter("scale", [1])
    outs = []
    for name, (start, end, stride) in [("there", (0, -1, 1)), ("back", (-1, 0, -1))]:
        p, ph, ps = o.parameter([-1, 1, 3], np.float32), o.parameter([-1, n], np.float32), o.parameter([1], np.float32)
        row = o.multiply(o.squeeze(p, ints(1)), ps)
        g = o.gru_cell(row, ph, const(rand(3 * n, 3, scale=0.5)), const(rand(3 * n, n, scale=0.5)), const(rand(3 * n)), n)
        body = ov.Model([o.result(g), o.result(o.unsqueeze(g, ints(1))), o.result(o.reduce_sum(g, ints(1), True))], [p, ph, ps], "body")
        ti = o.tensor_iterator()
        ti.set_body(body)
        ti.set_sliced_input(p, x.output(0), start, stride, 1, end, 1)
        ti.set_invariant_input(ps, scale.output(0))
        ti.set_merged_input(ph, h.output(0), body.results[0].output(0))
        every = ti.get_concatenated_slices(body.results[1].output(0), start, stride, 1, end, 1)
        last = ti.get_iter_value(body.results[0].output(0), -1)
        total = ti.get_iter_value(body.results[2].output(0), -1)
        outs += [(f"{name}_y", every), (f"{name}_h", last), (f"{name}_sum", total)]
    # A Loop that ends when the sum is large, or after six iterations.
    ps, pi = o.parameter([1], np.float32), o.parameter([], np.int64)
    grown = o.add(ps, o.add(o.convert(pi, "f32"), const([0.5], np.float32)))
    go_on = o.reduce_logical_and(o.less(grown, const([6.0], np.float32)), ints(0), True)
    body = ov.Model([o.result(go_on), o.result(grown), o.result(o.unsqueeze(grown, ints(0)))], [pi, ps], "loop")
    loop = o.loop(const(6, np.int64), const(True))
    loop.set_function(body)
    loop.set_special_body_ports([0, 0])
    loop.set_merged_input(ps, scale.output(0), body.results[1].output(0))
    last = loop.get_iter_value(body.results[1].output(0), -1)
    every = loop.get_concatenated_slices(body.results[2].output(0), 0, 1, 1, -1, 0)
    outs += [("loop_last", last), ("loop_all", every)]
    # An If on the sign.
    ta, ea = o.parameter([1], np.float32), o.parameter([1], np.float32)
    yes = ov.Model([o.result(o.multiply(ta, const([2.0], np.float32)))], [ta], "then")
    no = ov.Model([o.result(o.subtract(ea, const([10.0], np.float32)))], [ea], "else")
    choice = opset8.if_op(o.reduce_logical_or(o.greater(scale, const([0.0], np.float32)), ints(0), False).output(0))
    choice.set_then_body(yes)
    choice.set_else_body(no)
    choice.set_input(scale.output(0), ta, ea)
    outs += [("chosen", choice.set_output(yes.results[0], no.results[0]))]
    steps = [{"x": rand(b, 5, 3), "h": rand(b, n), "scale": np.array([s], np.float32)} for b, s in [(1, 0.9), (3, -1.5)]]
    save("iterations", [x, h, scale], outs, steps)


def variables():
    """States by ReadValue and Assign: a growing sum that begins with a constant, an LSTM, one that begins with an input."""
    o, n = opset13, 3
    x = parameter("x", [1, 1, 2])
    total = opset6.read_value(const(np.full((1, 2), 5, np.float32)), "total", ov.Type.f32, [1, 2])
    summed = o.add(total, o.squeeze(x, ints(0)))
    zero = const(np.zeros((1, 1, n)), np.float32)
    h, c = opset3.read_value(zero, "lstm/h"), opset3.read_value(zero, "lstm/c")
    lstm = o.lstm_sequence(x, h, c, const([1], np.int32), const(rand(1, 4 * n, 2)), const(rand(1, 4 * n, n)), const(rand(1, 4 * n)), n, "forward")
    first = opset6.read_value(o.multiply(x, const(2, np.float32)), "first", ov.Type.f32, [1, 1, 2])
    sinks = [opset6.assign(summed, "total"), opset3.assign(lstm.output(1), "lstm/h"), opset3.assign(lstm.output(2), "lstm/c"),
             opset6.assign(first, "first")]
    outs = [("sum", summed), ("y", lstm.output(0)), ("begin", o.add(first, x))]
    step = lambda: {"x": rand(1, 1, 2)}
    save("variables", [x], outs, [step(), step(), step(), "reset", step(), step()], sinks)


def rm_lstm4f():
    """The structure of the Kaldi network `rm_lstm4f`, in small, as the Model Optimizer writes it: frames of 43 features, LSTM
    layers with projection whose gates are products, splits and activations, states by ReadValue and Assign, an affine output."""
    o, cells, proj, layers, classes = opset13, 12, 6, 2, 10
    x = parameter("Parameter", [1, 43])
    h, sinks, states = o.multiply(x, const(np.abs(rand(1, 43)))), [], []
    weights = {}
    for layer in range(layers):
        size = h.get_output_shape(0)[1]
        wx, wr = rand(4 * cells, size, scale=0.3), rand(4 * cells, proj, scale=0.3)
        bias, wp = rand(1, 4 * cells, scale=0.3), rand(proj, cells, scale=0.3)
        peep = [rand(1, cells, scale=0.2) for _ in range(3)]
        weights[layer] = (wx, wr, bias, wp, peep)
        zero = lambda k: const(np.zeros((1, k)), np.float32)
        r = opset6.read_value(zero(proj), f"r{layer}", ov.Type.f32, [1, proj])
        c = opset6.read_value(zero(cells), f"c{layer}", ov.Type.f32, [1, cells])
        gates = o.add(o.add(o.matmul(h, const(wx), False, True), o.matmul(r, const(wr), False, True)), const(bias))
        g, i, f, out = o.split(gates, const(1, np.int64), 4).outputs()
        i = o.sigmoid(o.add(i, o.multiply(c, const(peep[0]))))
        f = o.sigmoid(o.add(f, o.multiply(c, const(peep[1]))))
        new = o.clamp(o.add(o.multiply(o.tanh(g), i), o.multiply(c, f)), -50.0, 50.0)
        out = o.sigmoid(o.add(out, o.multiply(new, const(peep[2]))))
        h = o.matmul(o.multiply(o.tanh(new), out), const(wp), False, True)
        sinks += [opset6.assign(h, f"r{layer}"), opset6.assign(new, f"c{layer}")]
    wo, bo = rand(classes, proj), rand(1, classes)
    y = o.add(o.matmul(h, const(wo), False, True), const(bo))
    step = lambda: {"Parameter": rand(1, 43)}
    save("rm_lstm4f", [x], [("affinetransform", y)], [step() for _ in range(6)] + ["reset"] + [step() for _ in range(3)], sinks)
    onnx_twin(weights, h0=dict(scale=x), wo=wo, bo=bo)


def onnx_twin(weights, h0, wo, bo):
    """The same net as ONNX, its states as pairs of inputs and outputs."""
    import onnx
    from onnx import TensorProto as T, helper, numpy_helper
    source = ov.Core().read_model(HERE / "rm_lstm4f.xml")
    scale = next(c for c in source.get_ops() if c.get_type_name() == "Constant" and list(c.shape) == [1, 43]).data.copy()
    nodes, inits, ins, outs = [], [numpy_helper.from_array(scale, "scale")], [], []
    tensor = lambda name, array: inits.append(numpy_helper.from_array(array, name)) or name
    node = lambda op, inputs, out, **a: nodes.append(helper.make_node(op, inputs, [out] if isinstance(out, str) else out, **a)) or out
    info = lambda name, size: helper.make_tensor_value_info(name, T.FLOAT, [1, size])
    ins.append(info("Parameter", 43))
    h = node("Mul", ["Parameter", "scale"], "scaled")
    tensor("low", np.array(-50, np.float32)), tensor("high", np.array(50, np.float32))
    for k, (wx, wr, bias, wp, peep) in weights.items():
        cells, proj = wp.shape[1], wp.shape[0]
        ins += [info(f"r{k}", proj), info(f"c{k}", cells)]
        outs += [info(f"r{k}_next", proj), info(f"c{k}_next", cells)]
        n = lambda s: f"{s}.{k}"
        node("MatMul", [h, tensor(n("wx"), wx.T.copy())], n("a"))
        node("MatMul", [f"r{k}", tensor(n("wr"), wr.T.copy())], n("b"))
        node("Add", [n("a"), n("b")], n("ab"))
        node("Add", [n("ab"), tensor(n("bias"), bias)], n("gates"))
        node("Split", [n("gates")], [n("g"), n("i"), n("f"), n("o")], axis=1, num_outputs=4)
        for gate, at, state in [("i", 0, f"c{k}"), ("f", 1, f"c{k}")]:
            node("Mul", [state, tensor(n(f"p{at}"), peep[at])], n(f"{gate}p"))
            node("Add", [n(gate), n(f"{gate}p")], n(f"{gate}s"))
            node("Sigmoid", [n(f"{gate}s")], n(f"{gate}g"))
        node("Tanh", [n("g")], n("gt"))
        node("Mul", [n("gt"), n("ig")], n("in"))
        node("Mul", [f"c{k}", n("fg")], n("keep"))
        node("Add", [n("in"), n("keep")], n("raw"))
        node("Clip", [n("raw"), "low", "high"], f"c{k}_next")
        node("Mul", [f"c{k}_next", tensor(n("p2"), peep[2])], n("op"))
        node("Add", [n("o"), n("op")], n("os"))
        node("Sigmoid", [n("os")], n("og"))
        node("Tanh", [f"c{k}_next"], n("ct"))
        node("Mul", [n("ct"), n("og")], n("m"))
        h = node("MatMul", [n("m"), tensor(n("wp"), wp.T.copy())], f"r{k}_next")
    node("MatMul", [h, tensor("wo", wo.T.copy())], "scores")
    node("Add", ["scores", tensor("bo", bo)], "affinetransform")
    graph = helper.make_graph(nodes, "rm_lstm4f", ins, [info("affinetransform", bo.shape[1])] + outs, inits)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.checker.check_model(model)
    onnx.save(model, HERE / "rm_lstm4f.onnx")


if __name__ == "__main__":
    for make in [mlp, elementwise, activations, shapes, images, reductions, recurrent, iterations, variables, rm_lstm4f]:
        make()
        print(make.__name__)
