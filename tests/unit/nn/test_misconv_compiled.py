"""MisConv2d in compiled code says what torch says in double precision."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx

from nanwise import nn as nw
from nanwise.completion import MFA
from nanwise.missing import Observed
from nanwise.nn import functional
from nanwise.nn.holes import compiled
from nanwise.nn.holes.op import operator

ROOT = Path(__file__).parents[3]
SETTINGS = [
    {"kernel_size": 3, "padding": 1},
    {"kernel_size": (2, 4), "padding": "same"},
    {"kernel_size": (3, 2), "stride": (2, 3), "padding": (2, 1)},
    {"kernel_size": 3, "dilation": (2, 1), "padding": 2, "groups": 2},
    {"kernel_size": 1, "stride": 4, "bias": False},
    {"kernel_size": 5, "stride": 2, "groups": 2, "bias": False},
    {"kernel_size": 3, "stride": 5, "dilation": 3, "padding": 4},
]
needed = pytest.mark.skipif(compiled._windows is None, reason="built without a compiler for C")


def make(shape=(2, 19, 23), n=6, k=2, rank=3):
    generator = torch.Generator().manual_seed(0)

    def normal(*size):
        return torch.randn(*size, generator=generator)

    x = normal(n, *shape)
    x[0, :, 2:12, 3:17] = torch.nan
    x[1, :, :3] = torch.nan  # at the border
    x[2, 0, 4, 4] = torch.nan  # one channel of one pixel
    x[3] = torch.nan  # everything; nothing in the fifth
    x[5][normal(*shape) > 0.3] = torch.nan
    parts = [normal(n, k).softmax(-1), normal(n, k, *shape), normal(n, k, rank, *shape)]
    return x, MFA(*parts, normal(n, k, *shape).exp(), ~x.isnan())


def run(layer, x, density, leaves="all"):
    """Answer, and gradients of a weighted sum of it in the leaves that are wanted."""
    x = x.clone().requires_grad_(leaves == "all")
    parts = [part.clone().requires_grad_(leaves != "layer") for part in density[:4]]
    out = layer(x, MFA(*parts, density.observed))
    weight = torch.linspace(-1, 2, out.numel(), dtype=out.dtype).reshape(out.shape)
    inputs = {"all": [x, *parts], "density": parts, "layer": []}[leaves]
    found = [
        out.detach(),
        *torch.autograd.grad((out * weight).sum(), [*inputs, *layer.parameters()]),
    ]
    if leaves != "layer":  # along the simplex, on which the weights of a mixture lie
        at = 2 if leaves == "all" else 1
        found[at] = found[at] - found[at].mean(-1, keepdim=True)
    return found


def in_double(layer, x, density, leaves="all"):
    double = MFA(*(part.double() for part in density[:4]), density.observed)
    try:
        return run(layer.double(), x.double(), double, leaves)
    finally:
        layer.float()


def assert_same(got, want):
    for one, other in zip(got, want, strict=True):
        bound = 1e-4 if other.ndim == 2 else 2e-6  # weights of a mixture: large sums that cancel
        scale = max([1e-6, *other.abs().flatten().tolist()])
        torch.testing.assert_close(one.double(), other, rtol=0, atol=bound * scale)


def test_it_is_built_where_there_is_a_compiler():
    """The build may fail in silence, and the tests below would be skipped."""
    headers = Path(sysconfig.get_path("include"), "Python.h")
    if sys.platform != "linux" or not shutil.which("gcc") or not headers.is_file():
        pytest.skip("no gcc, or no headers of Python")
    assert compiled._windows is not None


@needed
@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("outputs", [4, 20])
@pytest.mark.parametrize("setting", SETTINGS)
def test_answer_and_gradients_on_every_instruction_set(setting, outputs, lanes, monkeypatch):
    if lanes > compiled._windows.most_lanes():
        pytest.skip(f"this processor has no {lanes} lanes")
    monkeypatch.setattr(compiled, "LANES", lanes)
    torch.manual_seed(0)
    layer = nw.MisConv2d(2, outputs, **setting)
    x, density = make()
    assert_same(run(layer, x, density), in_double(layer, x, density))


@needed
@pytest.mark.parametrize("leaves", ["layer", "density"])
@pytest.mark.parametrize(("k", "rank"), [(1, 0), (1, 4), (3, 1)])
def test_numbers_of_components_and_factors_and_what_is_wanted(k, rank, leaves):
    layer = nw.MisConv2d(2, 9, 3, padding=1)
    x, density = make(k=k, rank=rank)
    assert_same(run(layer, x, density, leaves), in_double(layer, x, density, leaves))


@needed
@pytest.mark.parametrize("threads", [2, 3, 7])
def test_threads_share_the_pictures(threads):
    layer = nw.MisConv2d(2, 8, 3, padding=1)
    x, density = make()
    want, before = run(layer, x, density), torch.get_num_threads()
    try:
        torch.set_num_threads(threads)
        got = run(layer, x, density)
        again = run(layer, x, density)
    finally:
        torch.set_num_threads(before)
    for one, other, same in zip(got, want, again, strict=True):
        torch.testing.assert_close(one, other)
        assert torch.equal(one, same)


@needed
def test_without_variance_it_is_the_filled_picture_exactly():
    x, density = make(k=1)
    certain = density._replace(factors=0 * density.factors, noise=0 * density.noise)
    layer = nw.MisConv2d(2, 8, 3, padding=1)
    filled = torch.where(x.isnan(), density.means[:, 0], x)
    nothing = MFA(*certain[:4], torch.ones_like(density.observed))
    assert torch.equal(layer(x, certain), layer(filled, nothing))


@needed
def test_certain_windows_have_finite_gradients_and_no_activation_is_negative():
    x, density = make()
    nothing = MFA(density.weights, *(0 * part for part in density[1:4]), density.observed)
    layer = nw.MisConv2d(2, 8, 3, padding=1, bias=False)
    out, *gradients = run(layer, x, nothing)
    assert (out[3] == 0).all()
    assert all(gradient.isfinite().all() for gradient in gradients)
    far = density._replace(means=density.means * 100)  # most windows many deviations from 0
    assert (layer(x, far) >= 0).all()


@needed
@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1e3, 1e9])
def test_any_scale(scale):
    layer = nw.MisConv2d(2, 8, 3, padding=1, bias=False)
    x, density = make()
    parts = (density.means * scale, density.factors * scale, density.noise * scale**2)
    scaled = MFA(density.weights, *parts, density.observed)
    assert_same([layer(x * scale, scaled) / scale], [layer(x, density).double()])


@needed
def test_nan_weights_give_nan_not_zero():
    """A network that diverged must say so."""
    layer = nw.MisConv2d(2, 8, 3, padding=1)
    with torch.no_grad():
        layer.weight[0] = torch.nan
    out = layer(*make())
    assert out[:, 0].isnan().all()
    assert out[:, 1:].isfinite().all()


@needed
def test_one_density_for_all_pictures_and_other_orders_of_memory():
    x, density = make()
    layer = nw.MisConv2d(2, 8, 3, padding=1)
    first = MFA(*(part[:1] for part in density))
    x[:] = torch.where(density.observed[:1], torch.randn(6, 2, 19, 23), torch.nan)
    want = layer(x, MFA(*(part.expand(6, *part.shape[1:]).contiguous() for part in first)))
    assert torch.equal(layer(x, first), want)
    turned = x.transpose(2, 3).contiguous().transpose(2, 3)
    assert torch.equal(layer(turned, first), want)
    assert torch.equal(layer(x.to(memory_format=torch.channels_last), first), want)


@needed
def test_gradients_whatever_the_order_of_memory():
    x, density = make()
    layer = nw.MisConv2d(2, 8, 3, padding=1)
    want = in_double(layer, x, density)
    assert_same(run(layer.to(memory_format=torch.channels_last), x, density), want)
    pack = (lambda t: t.to(memory_format=torch.channels_last) if t.ndim == 4 else t, lambda t: t)
    with torch.autograd.graph.saved_tensors_hooks(*pack):
        assert_same(run(layer, x, density), want)


@needed
@pytest.mark.parametrize("shape", [(6, 1, 19, 23), (1, 2, 19, 23), (1, 1, 19, 1)])
def test_one_mask_for_several_channels_or_pictures(shape):
    x, density = make()
    x = x.nan_to_num(1.0)
    mask = torch.rand(shape) > 0.4
    layer = nw.MisConv2d(2, 8, 3, padding=1)
    whole = mask.expand(x.shape)
    values = x * whole
    density = density._replace(observed=whole)
    got = layer(Observed(values, mask), density)
    assert torch.equal(got, layer(Observed(values, whole.contiguous()), density))
    with pytest.raises(ValueError, match=r"observed has shape \(5, 2, 19, 23\), the pictures"):
        layer(Observed(values, torch.ones(5, 2, 19, 23, dtype=bool)), density)


@needed
def test_a_nan_stays_on_the_way_back_and_noise_below_zero_is_none():
    x, density = make()
    layer = nw.MisConv2d(2, 8, 3, padding=1)
    below = density._replace(noise=-1e-12 + 0 * density.noise, factors=0 * density.factors)
    assert_same([layer(x, below)], [layer(x, below._replace(noise=0 * below.noise)).double()])
    with torch.no_grad():
        layer.bias[1] = torch.nan
    *_, kernel, bias = run(layer, x, density)
    assert bias.isnan().tolist() == [False, True, *[False] * 6]
    assert kernel[1].isnan().all()
    assert kernel[2:].isfinite().all()


@needed
def test_back_goes_the_way_that_it_came(monkeypatch):
    x, density = make()
    layer = nw.MisConv2d(2, 8, 3, padding=1)
    want = in_double(layer, x, density, "layer")
    out = layer(x, density)
    weight = torch.linspace(-1, 2, out.numel()).reshape(out.shape)
    monkeypatch.setattr(compiled, "_windows", None)
    with pytest.raises(AttributeError):  # not by torch, which has kept nothing
        torch.autograd.grad((out * weight).sum(), layer.weight)
    monkeypatch.undo()
    assert_same(run(layer, x, density, "layer"), want)


@needed
def test_tracers_and_other_kinds_of_tensors_see_an_operator():
    x, density = make()
    layer = nw.MisConv2d(2, 8, 3, padding=1).requires_grad_(False)
    want = layer(x, density)

    def call(x):
        return layer(x, density)

    traced = torch.jit.trace(call, x[[1, 0, 2, 3, 4, 5]], check_trace=False)
    assert torch.equal(traced(x), want)
    assert torch.equal(make_fx(call)(x)(x), want)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        assert call(mode.from_tensor(x)).shape == want.shape


@needed
@pytest.mark.parametrize("order", [torch.contiguous_format, torch.channels_last])
def test_the_operator_keeps_what_it_promises(order):
    x, density = make()
    layer = nw.MisConv2d(2, 8, 3, padding=1).to(memory_format=order)
    x = x.nan_to_num(0.0).to(memory_format=order).requires_grad_()
    lies = ([1, 1], [1, 1], [1, 1], 1)
    present = density.observed.float()
    torch.library.opcheck(
        operator, (x, *density[:4], present, layer.weight, layer.bias, *lies), rtol=1e-4, atol=1e-4
    )


@needed
def test_forward_mode_is_refused():
    x, density = make()
    layer = nw.MisConv2d(2, 8, 3, padding=1)
    with forward_ad.dual_level(), torch.no_grad():
        dual = forward_ad.make_dual(x, torch.ones_like(x))
        with pytest.raises(NotImplementedError, match="none in forward mode"):
            layer(dual, density)
    with pytest.raises(NotImplementedError, match="none in forward mode"):
        torch.func.jvp(lambda x: layer(x, density), (x,), (torch.ones_like(x),))


@needed
def test_lanes_that_no_code_has_are_refused(monkeypatch):
    monkeypatch.setattr(compiled, "LANES", 2)
    with pytest.raises(ValueError, match="no code for 2 lanes"):
        nw.MisConv2d(2, 8, 3)(*make())


@needed
@pytest.mark.parametrize(
    ("kernel", "bias", "stride"),
    [
        ((8, 2, 3, 3), (8, 1), 1),
        ((8, 2, 3, 3), (), 1),
        ((8, 2, 3, 3), (8,), (1, 1, 1)),
        ((8, 2, 3, 3), (8,), 0),
        ((8, 2, 3), (8,), 1),
        ((8, 2, 0, 3), (8,), 1),
    ],
)
def test_what_is_no_convolution_is_refused_by_torch(kernel, bias, stride, monkeypatch):
    x, density = make()

    def call():
        with pytest.raises((RuntimeError, ValueError)) as raised:
            functional.misconv2d(x, density, torch.ones(kernel), torch.ones(bias), stride)
        return str(raised.value)

    with_code = call()
    monkeypatch.setattr(compiled, "_windows", None)
    assert call() == with_code


@needed
def test_no_pictures_and_no_windows():
    x, density = make()
    layer = nw.MisConv2d(2, 8, 3)
    assert layer(x[:0], MFA(*(part[:0] for part in density))).shape == (0, 8, 17, 21)
    with pytest.raises(RuntimeError, match=r"[Kk]ernel size can't be greater"):
        nw.MisConv2d(2, 8, 30)(x, density)


@needed
def test_wide_kernels_double_precision_and_half_are_left_to_torch(monkeypatch):
    def never(*args):
        raise AssertionError

    monkeypatch.setattr(compiled, "_run", never)
    x, density = make()
    with pytest.raises(AssertionError):
        nw.MisConv2d(2, 8, 3)(x, density)
    in_double(nw.MisConv2d(2, 8, 3), x, density)
    monkeypatch.setattr(compiled, "MOST_TAPS", 17)
    assert nw.MisConv2d(2, 8, 3)(x, density).shape == (6, 8, 17, 21)


def test_torch_says_the_same_in_single_precision(monkeypatch):
    monkeypatch.setattr(compiled, "_windows", None)
    layer = nw.MisConv2d(2, 20, 3, padding=1)
    x, density = make()
    assert_same(run(layer, x, density), in_double(layer, x, density))


@needed
def test_the_package_builds_without_a_compiler(tmp_path):
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("*.so", "*.pyc"))
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    environment = {**os.environ, "CC": "no-such-compiler"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.rglob("*.so"))
    assert "no-such-compiler" in done.stdout + done.stderr
