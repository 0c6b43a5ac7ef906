"""What every layer of this package keeps to, as tests; authors of other layers subclass it too.

::

    class TestMyLayers(LayerContract):
        cases = (LayerCase("mine", lambda: MyLayer(LayerCase.width)),)
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from nanwise.missing import Observed
from nanwise.nn.sparse import Rows

_NAN = float("nan")


@dataclass(frozen=True)
class LayerCase:
    """One layer to be tested.

    Attributes
    ----------
    name : str
        Shown in the test's id.
    make : callable
        ``make() -> nn.Module``, ready to be called on tensors (N, ``*shape``).
    plain : callable, optional
        ``plain(layer) -> function of a tensor``: what the layer is where nothing is missing.
    nan_is_gap : bool, default=True
        Whether NaN alone, without a mask, tells a gap.
    minds_gaps : bool, default=True
        False if the layer looks neither at NaN nor at the mask.
    rows : bool, default=False
        Whether it takes :class:`nanwise.nn.Rows`.
    shape : tuple of int, default=(5,)
        Shape of one row: of a vector, or (C, H, W) of a picture.
    """

    name: str
    make: Callable[[], nn.Module]
    plain: Callable[[nn.Module], Callable[[Tensor], Tensor]] | None = None
    nan_is_gap: bool = True
    minds_gaps: bool = True
    rows: bool = False
    width: ClassVar[int] = 5
    shape: tuple[int, ...] = (width,)


class LayerContract:
    """Subclass it under a name that starts with ``Test`` and set ``cases``."""

    cases: ClassVar[tuple[LayerCase, ...]] = ()

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """Run every test once per case."""
        if "case" in metafunc.fixturenames:
            metafunc.parametrize("case", metafunc.cls.cases, ids=lambda case: case.name)

    def test_forms_of_input_agree(self, case: LayerCase) -> None:
        """NaN, values with mask and ``Observed`` say the same."""
        layer, x, observed = _layer(case), *_data(case)
        zeros = x.where(observed, 0.0)
        want = layer(zeros, observed)
        assert want.isfinite().all()
        torch.testing.assert_close(layer(Observed(zeros, observed)), want)
        if case.nan_is_gap and case.minds_gaps:
            torch.testing.assert_close(layer(x.where(observed, _NAN)), want)
            half = observed.clone()
            half[:3] = True
            torch.testing.assert_close(layer(x.where(observed, _NAN), half), want)

    def test_garbage_behind_gaps_is_ignored(self, case: LayerCase) -> None:
        """Neither the answer nor a gradient sees what stands in a gap."""
        x, observed = _data(case)
        if not case.minds_gaps:
            assert torch.equal(_layer(case)(x, observed), _layer(case)(x, ~observed))
            return
        want = _gradients(case, x.where(observed, 0.0), observed)
        for garbage in (_NAN, float("inf"), float("-inf"), 1e30):
            got = _gradients(case, x.where(observed, garbage), observed)
            for name, value in want.items():
                torch.testing.assert_close(got[name], value, msg=f"{name} with {garbage}")
        assert (want["x"][~observed] == 0).all()

    def test_without_gaps_it_is_the_plain_layer(self, case: LayerCase) -> None:
        """Gaps cost nothing where there are none."""
        layer, x = _layer(case), _data(case)[0]
        if case.plain is not None:
            torch.testing.assert_close(layer(x), case.plain(layer)(x))
        torch.testing.assert_close(layer(x, torch.ones_like(x, dtype=torch.bool)), layer(x))

    def test_empty_row_is_finite(self, case: LayerCase) -> None:
        """A row without a value gives numbers, and gradients that are numbers."""
        x, observed = _data(case)
        observed[1] = False
        for value in _gradients(case, x.where(observed, 0.0), observed).values():
            assert value.isfinite().all()

    def test_rows_do_not_see_each_other(self, case: LayerCase) -> None:
        """A batch of one gives what the whole batch gives, and so do further axes of vectors."""
        layer, x, observed = _layer(case), *_data(case)
        x = x.where(observed, 0.0)
        whole = layer(x, observed)
        one = torch.cat([layer(x[i : i + 1], observed[i : i + 1]) for i in range(len(x))])
        torch.testing.assert_close(one, whole)
        assert layer(x[:0], observed[:0]).shape == (0, *whole.shape[1:])
        if len(case.shape) == 1:
            series = layer(x.unflatten(0, (2, -1)), observed.unflatten(0, (2, -1)))
            torch.testing.assert_close(series.flatten(0, 1), whole)

    def test_gradients_are_right(self, case: LayerCase) -> None:
        """Gradients in the input and in every parameter equal finite differences."""
        layer, x, observed = _layer(case), *_data(case)
        x = x.where(observed, 0.0).requires_grad_()
        names = [name for name, _ in layer.named_parameters()]
        start = [p.detach().clone().requires_grad_() for p in layer.parameters()]

        def function(x: Tensor, *parameters: Tensor) -> Tensor:
            return functional_call(layer, dict(zip(names, parameters, strict=True)), (x, observed))

        assert torch.autograd.gradcheck(function, (x, *start))

    def test_state_dict_round_trip(self, case: LayerCase) -> None:
        """Everything learnt is in the ``state_dict``, and only tensors are."""
        layer, x, observed = _layer(case), *_data(case)
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.add_(0.1)
        state = {name: value.clone() for name, value in layer.state_dict().items()}
        other = _layer(case)
        other.load_state_dict(state)
        x = x.where(observed, 0.0)
        assert torch.equal(other(x, observed), layer(x, observed))
        assert torch.equal(copy.deepcopy(layer)(x, observed), layer(x, observed))

    def test_compiles_as_one_graph(self, case: LayerCase) -> None:
        """``torch.compile`` finds nothing it must leave to Python, and changes no number."""
        layer, x, observed = _layer(case), *_data(case)
        x = x.where(observed, 0.0)
        torch.compiler.reset()
        compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
        torch.testing.assert_close(compiled(x, observed), layer(x, observed))
        if case.nan_is_gap and case.minds_gaps:
            x = x.where(observed, _NAN)
            torch.testing.assert_close(compiled(x), layer(x))

    def test_vmaps(self, case: LayerCase) -> None:
        """``torch.func.vmap`` over rows, and over stacked parameters, changes no number."""
        layer, x, observed = _layer(case), *_data(case)
        x = x.where(observed, 0.0)
        torch.testing.assert_close(vmap(layer)(x, observed), layer(x, observed))
        state = {name: torch.stack([value, value]) for name, value in layer.state_dict().items()}
        if state:
            twice = vmap(lambda one: functional_call(layer, one, (x, observed)))(state)
            torch.testing.assert_close(twice, torch.stack([layer(x, observed)] * 2))

    def test_input_stays_as_it_is(self, case: LayerCase) -> None:
        """Nothing is written into what the caller owns."""
        layer, x, observed = _layer(case), *_data(case)
        x = x.where(observed, 0.0)
        kept, there = x.clone(), observed.clone()
        for arguments in ((x, observed), (Observed(x, observed),), (x,)):
            layer(*arguments)
            assert torch.equal(x, kept)
            assert torch.equal(observed, there)

    def test_precision_is_kept(self, case: LayerCase) -> None:
        """Single precision in, single precision out, close to the double one."""
        layer, x, observed = _layer(case), *_data(case)
        x = x.where(observed, 0.0)
        single = copy.deepcopy(layer).float()(x.float(), observed)
        assert single.dtype == torch.float32
        torch.testing.assert_close(single.double(), layer(x, observed), rtol=1e-4, atol=1e-5)

    def test_says_what_it_is(self, case: LayerCase) -> None:
        """``repr`` names the arguments; ``out_features``, where known, is the true width."""
        layer, x, observed = _layer(case), *_data(case)
        assert layer.extra_repr()
        assert layer.extra_repr() in repr(layer)
        width = getattr(layer, "out_features", None)
        assert width in (None, layer(x.where(observed, 0.0), observed).shape[-1])

    def test_sparse_rows_equal_dense_ones(self, case: LayerCase) -> None:
        """Rows give what their dense form with NaN gives; other layers refuse them."""
        layer, x, observed = _layer(case), *_data(case)
        rows = _rows(x, observed)
        if not case.rows:
            with pytest.raises(TypeError):
                layer(rows)
            return
        got = layer(rows)
        dense = got.to_nan().nan_to_num(0.0) if isinstance(got, Rows) else got
        torch.testing.assert_close(dense, layer(x.where(observed, _NAN)))


def _data(case: LayerCase) -> tuple[Tensor, Tensor]:
    """Six rows in double precision; row 0 complete, all others with gaps and values."""
    generator = torch.Generator().manual_seed(7)
    x = torch.randn(6, math.prod(case.shape), generator=generator, dtype=torch.float64)
    observed = torch.rand(x.shape, generator=generator) < 0.6
    observed[0] = True
    observed[1:, 0], observed[1:, 1] = True, False
    return x.unflatten(1, case.shape), observed.unflatten(1, case.shape)


def _layer(case: LayerCase) -> nn.Module:
    """The layer in double precision and evaluation mode, always with the same parameters."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        return case.make().double().eval()


def _gradients(case: LayerCase, x: Tensor, observed: Tensor) -> dict[str, Tensor]:
    """Answer of the layer and gradients of its weighted sum, by name."""
    layer, x = _layer(case), x.clone().requires_grad_()
    out = layer(x, observed)
    (out * torch.arange(1, out.numel() + 1).reshape(out.shape)).sum().backward()
    found = {"out": out.detach(), "x": x.grad}
    found |= {name: parameter.grad for name, parameter in layer.named_parameters()}
    return {name: value for name, value in found.items() if value is not None}


def _rows(x: Tensor, observed: Tensor) -> Rows:
    x, observed = x.flatten(1), observed.flatten(1)
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), observed.sum(1).cumsum(0)])
    return Rows(x[observed], observed.nonzero()[:, 1], offsets, x.shape[1])
