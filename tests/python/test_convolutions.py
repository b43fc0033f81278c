"""Convolutions, poolings and resizing on random shapes, beside the CPU provider."""

import numpy as np
import pytest
from providers import assert_near, contrib, model, node, run_on_cpu, run_on_spacemit

F16, F32 = np.float16, np.float32
SEEDS = range(12)


def check(op, feeds, outputs, constants=None, terms=8, opset=21):
    serialized = model([op], feeds, outputs, constants, opset, symbolic=True)
    results, _ = run_on_spacemit(serialized, feeds)
    assert_near(results, run_on_cpu(serialized, feeds), terms)


class Case:
    """Attributes and shapes of one convolution that fits together, all from the seed."""

    def __init__(self, seed, axes=None):
        self.numbers = np.random.default_rng(seed)
        pick = self.pick
        self.axes = axes or pick(1, 3)
        self.group = pick(1, 3)
        self.channels, self.filters = self.group * pick(1, 4), self.group * pick(1, 5)
        self.kernel = [pick(1, 3) for _ in range(self.axes)]
        self.strides = [pick(1, 3) for _ in range(self.axes)]
        self.dilations = [pick(1, 2) for _ in range(self.axes)]
        self.pads = [pick(0, min(1, size - 1)) for size in self.kernel * 2]
        self.image = [pick(5, 12) for _ in range(self.axes)]
        self.batch = pick(1, 2)

    def pick(self, low, high):
        return int(self.numbers.integers(low, high + 1))

    def normal(self, *shape, dtype=F32):
        return self.numbers.standard_normal(shape).astype(dtype)

    def integers(self, dtype, *shape):
        limits = np.iinfo(dtype)
        return self.numbers.integers(limits.min, limits.max, shape, dtype, endpoint=True)

    def attributes(self, *names):
        return {name: getattr(self, name) for name in names}


ALL = ("group", "strides", "dilations", "pads")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize("constant", [False, True])
def test_conv(seed, dtype, constant):
    case = Case([seed, 1])
    weight = case.normal(case.filters, case.channels // case.group, *case.kernel, dtype=dtype)
    feeds = {"x": case.normal(case.batch, case.channels, *case.image, dtype=dtype)}
    constants = {"w": weight, "b": case.normal(case.filters, dtype=dtype)}
    if not constant:
        feeds |= constants
        constants = {}
    terms = weight[0].size + 1
    check(node("Conv", "x w b", "y", **case.attributes(*ALL)), feeds, {"y": dtype}, constants, terms)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER", "VALID"])
def test_automatic_padding(seed, auto_pad):
    case = Case([seed, 2])
    feeds = {"x": case.normal(case.batch, case.channels, *case.image)}
    constants = {"w": case.normal(case.filters, case.channels // case.group, *case.kernel)}
    op = node("Conv", "x w", "y", auto_pad=auto_pad, **case.attributes("group", "strides"))
    check(op, feeds, {"y": F32}, constants, constants["w"][0].size)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("activation", ["Relu", "Tanh", "Sigmoid", "Clip"])
@pytest.mark.parametrize("residual", [False, True])
def test_fused_conv(seed, activation, residual):
    case = Case([seed, 3], axes=2)
    weight = case.normal(case.filters, case.channels // case.group, *case.kernel)
    feeds = {"x": case.normal(case.batch, case.channels, *case.image)}
    constants = {"w": weight, "b": case.normal(case.filters)}
    plain = model([node("Conv", "x w b", "y", **case.attributes(*ALL))], feeds, {"y": F32}, constants)
    if residual:
        feeds["z"] = case.normal(*run_on_cpu(plain, feeds)[0].shape)
    attributes = case.attributes(*ALL) | {"activation": activation}
    if activation == "Clip":
        attributes["activation_params"] = [-0.5, 1.5]
    op = contrib("FusedConv", "x w b z" if residual else "x w b", "y", **attributes)
    check(op, feeds, {"y": F32}, constants, weight[0].size + 8)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("constant", [False, True])
def test_conv_transpose(seed, constant):
    case = Case([seed, 4])
    weight = case.normal(case.channels, case.filters // case.group, *case.kernel)
    feeds = {"x": case.normal(case.batch, case.channels, *case.image)}
    constants = {"w": weight, "b": case.normal(case.filters)}
    if not constant:
        feeds |= constants
        constants = {}
    attributes = case.attributes(*ALL)
    if seed % 3 == 1:
        attributes["output_padding"] = [size - 1 for size in case.strides]
    if seed % 3 == 2:
        del attributes["pads"]
        reach = zip(case.image, case.strides, case.kernel, case.dilations)
        attributes["output_shape"] = [(n - 1) * s + (k - 1) * d + (1 if k == 1 else 0) for n, s, k, d in reach]
        attributes["auto_pad"] = case.numbers.choice(["NOTSET", "SAME_UPPER", "SAME_LOWER"])
    op = node("ConvTranspose", "x w b", "y", **attributes)
    check(op, feeds, {"y": F32}, constants, case.channels * weight[0, 0].size + 1)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("x_type", "w_type"), [(np.uint8, np.int8), (np.uint8, np.uint8), (np.int8, np.int8)])
@pytest.mark.parametrize("channels", [False, True])
def test_qlinear_conv(seed, x_type, w_type, channels):
    case = Case([seed, 5], axes=2)
    per_filter = (case.filters,) if channels else ()
    weight = (case.filters, case.channels // case.group, *case.kernel)
    feeds = {"x": case.integers(x_type, case.batch, case.channels, *case.image)}
    constants = {
        "xs": np.array(0.02, F32),
        "xz": case.integers(x_type),
        # Larger signed weights saturate in the CPU provider on machines without a dot product of bytes.
        "w": case.numbers.integers(-64 if w_type == np.int8 else 0, 64, weight, w_type),
        "ws": case.numbers.uniform(0.005, 0.02, per_filter).astype(F32),
        # The CPU provider has one zero point for all filters.
        "wz": np.full(per_filter, case.integers(w_type)),
        "ys": np.array(0.05, F32),
        "yz": case.integers(x_type),
        "b": case.numbers.integers(-5000, 5000, case.filters, np.int32),
    }
    op = node("QLinearConv", "x xs xz w ws wz ys yz b", "y", **case.attributes(*ALL))
    serialized = model([op], feeds, {"y": x_type}, constants, symbolic=True)
    result, expected = run_on_spacemit(serialized, feeds)[0][0], run_on_cpu(serialized, feeds)[0]
    # Both scale in float32, in another order: a tie may go the other way.
    apart = np.abs(result.astype(int) - expected.astype(int))
    assert apart.max() <= 1 and np.count_nonzero(apart) <= max(1, apart.size // 500)


@pytest.mark.parametrize("seed", SEEDS)
def test_conv_integer(seed):
    case = Case([seed, 6], axes=2)
    feeds = {
        "x": case.integers(np.uint8, case.batch, case.channels, *case.image),
        "w": case.integers(np.uint8, case.filters, case.channels // case.group, *case.kernel),
        "xz": case.integers(np.uint8),
        "wz": case.integers(np.uint8),
    }
    check(node("ConvInteger", "x w xz wz", "y", **case.attributes(*ALL)), feeds, {"y": np.int32})


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize("ceil_mode", [0, 1])
def test_pools(seed, op, ceil_mode):
    case = Case([seed, 7])
    feeds = {"x": case.normal(case.batch, case.channels, *case.image)}
    attributes = case.attributes("strides", "dilations", "pads") | {"kernel_shape": case.kernel}
    if op == "AveragePool":
        attributes["count_include_pad"] = seed % 2
    check(node(op, "x", "y", ceil_mode=ceil_mode, **attributes), feeds, {"y": F32}, terms=30)


MODES = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("coordinates", MODES)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_resize(seed, coordinates, mode):
    case = Case([seed, 8], axes=2)
    feeds = {"x": case.normal(case.batch, case.channels, *case.image)}
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates}
    if mode == "nearest":
        roundings = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
        # In this mode the middle falls on an element, up to rounding, which these two would tell.
        attributes["nearest_mode"] = roundings[seed % (2 if coordinates == "half_pixel_symmetric" else 4)]
    if seed % 2:
        sizes = [case.batch, case.channels, case.pick(1, 20), case.pick(1, 20)]
        op = node("Resize", "x - - sizes", "y", **attributes)
        constants = {"sizes": np.array(sizes, np.int64)}
    else:
        op = node("Resize", "x - scales", "y", **attributes)
        constants = {"scales": np.array([1, 1, *case.numbers.uniform(0.4, 3, 2)], F32)}
    # The places of elements are rounded to about ten units of their own size, and differences are multiplied by them.
    check(op, feeds, {"y": F32}, constants, terms=300)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("op", ["BatchNormalization", "InstanceNormalization", "GlobalAveragePool", "GlobalMaxPool"])
def test_channels(seed, op):
    case = Case([seed, 9])
    feeds = {"x": case.normal(case.batch, case.channels, *case.image)}
    if op.startswith("Global"):
        check(node(op, "x", "y"), feeds, {"y": F32}, terms=np.prod(case.image))
        return
    constants = {"scale": case.normal(case.channels), "bias": case.normal(case.channels)}
    if op == "BatchNormalization":
        variance = case.numbers.uniform(0.5, 2, case.channels).astype(F32)
        constants |= {"mean": case.normal(case.channels), "var": variance}
    check(node(op, " ".join(["x", *constants]), "y", epsilon=1e-3), feeds, {"y": F32}, constants, terms=32)
