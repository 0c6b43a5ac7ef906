"""AutoRecNet against the same mathematics written densely."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse
from torch import Tensor

from nanwise.estimators.recommend.sources import Blocks, cut_rows
from nanwise.nets.autorec import AutoRecNet
from nanwise.train import Plan, train

ROWS, WIDTH, HIDDEN = 23, 17, 5


def matrix(seed: int = 0, share: float = 0.3) -> sparse.csr_array:
    rng = np.random.default_rng(seed)
    cells = rng.integers(1, 6, (ROWS, WIDTH)) * (rng.random((ROWS, WIDTH)) < share)
    cells[4] = 0
    return sparse.csr_array(cells.astype(np.float64))


def make(norm: str | None = None, seed: int = 0) -> AutoRecNet:
    torch.manual_seed(seed)
    net = AutoRecNet(WIDTH, HIDDEN, norm, 1.0, 5.0).double()
    with torch.no_grad():
        for value in (net.hidden_bias, net.bias):
            value.normal_()
    return net


def source(cells: sparse.csr_array, batch: int | None = None, world: int = 1) -> Blocks:
    cuts = cut_rows(np.diff(cells.indptr), batch, world, seed=0)
    return Blocks(cells, np.linspace(0.5, 2, ROWS), cuts, precision="float64")


def dense_errors(net: AutoRecNet, cells: sparse.csr_array) -> Tensor:
    """Errors at observed cells, by the formula."""
    full = torch.tensor(cells.toarray())
    inputs = full * torch.linspace(0.5, 2, ROWS, dtype=torch.float64)[:, None]
    kept = (full != 0).any(1)
    hidden = net.norm((inputs @ net.encode + net.hidden_bias)[kept]).sigmoid()
    answers = hidden @ net.decode.T + net.bias
    return torch.where(full[kept] != 0, answers - full[kept], 0.0)


@pytest.mark.parametrize("norm", [None, "layer", "batch"])
def test_loss_and_gradients_are_those_of_the_dense_formula(norm: str | None) -> None:
    cells, net = matrix(), make(norm)
    blocks = source(cells)
    net.weight = len(blocks) / cells.nnz
    loss = net.training_step(blocks[torch.arange(1)])
    exact = dense_errors(net, cells).square().sum() / cells.nnz
    assert loss.item() == pytest.approx(exact.item(), rel=1e-12)
    names = [name for name, _ in net.named_parameters()]
    ours = torch.autograd.grad(loss, list(net.parameters()))
    theirs = torch.autograd.grad(exact, list(net.parameters()))
    for name, one, other in zip(names, ours, theirs, strict=True):
        assert torch.allclose(one, other, atol=1e-12), name


@pytest.mark.parametrize(("batch", "world"), [(None, 1), (None, 2), (5, 1), (4, 3), (1, 1)])
def test_the_mean_over_blocks_is_the_whole(batch: int | None, world: int) -> None:
    cells, net = matrix(1), make()
    blocks = source(cells, batch, world)
    net.weight = len(blocks) / cells.nnz
    steps = [net.training_step(blocks[torch.tensor([i])]) for i in range(len(blocks))]
    exact = dense_errors(net, cells).square().sum() / cells.nnz
    assert torch.stack(steps).mean().item() == pytest.approx(exact.item(), rel=1e-12)
    together = net.training_step(blocks[torch.arange(len(blocks))])
    assert together.item() == pytest.approx(exact.item(), rel=1e-12)


def test_blocks_hold_each_row_with_ratings_once() -> None:
    counts = np.array([3, 0, 1, 9, 2, 2, 0, 4])
    for batch, world in [(None, 1), (None, 2), (None, 20), (2, 2), (1, 3), (100, 1)]:
        cuts = cut_rows(counts, batch, world, seed=3)
        assert sorted(np.concatenate(cuts).tolist()) == [0, 2, 3, 4, 5, 7]
        assert all(len(cut) for cut in cuts)
    halves = cut_rows(counts, None, 2, seed=0)
    assert abs(counts[halves[0]].sum() - counts[halves[1]].sum()) <= 5


def test_penalty_is_in_the_gradient_and_spares_biases() -> None:
    """Adam with this weight decay walks as on the loss with the penalty written out."""
    cells, penalties = matrix(2), (3.0, 8.0)
    net, other = make(), make()
    blocks = source(cells)
    net.weight = 1 / cells.nnz
    net.excess[:] = torch.tensor([0.0, 5.0]) / cells.nnz
    plan = Plan(
        epochs=30,
        batch=1,
        lr=0.01,
        optimizer="adam",
        weight_decay=3.0 / cells.nnz,
        schedule=None,
        precision="float64",
    )
    train(net, blocks, plan, seed=0)
    optimizer = torch.optim.Adam(other.parameters(), lr=0.01)
    for _ in range(30):
        squares = (other.encode.square().sum(), other.decode.square().sum())
        penalty = sum(p / 2 * s for p, s in zip(penalties, squares, strict=True))
        loss = (dense_errors(other, cells).square().sum() + penalty) / cells.nnz
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    for name, value in other.named_parameters():
        assert torch.allclose(net.get_parameter(name), value, atol=1e-8), name


def test_validation_asks_at_held_cells_from_training_rows_and_clips() -> None:
    cells, held = matrix(3, 0.4), matrix(4, 0.2)
    net = make()
    with torch.no_grad():
        net.bias[0] = 50.0
    rows = np.flatnonzero(np.diff(held.indptr))
    scale = np.linspace(0.5, 2, ROWS)
    blocks = Blocks(cells, scale, [rows[:7], rows[7:]], held, "float64")
    total, count = net.validation_step(blocks[torch.arange(2)])
    inputs = torch.tensor(cells.toarray() * scale[:, None])
    answers = ((inputs @ net.encode + net.hidden_bias).sigmoid() @ net.decode.T + net.bias).clamp(
        1, 5
    )
    target = torch.tensor(held.toarray())
    exact = torch.where(target != 0, answers - target, 0.0).square().sum()
    assert total.item() == pytest.approx(exact.item(), rel=1e-12)
    assert int(count) == held.nnz


def test_norms_are_free_of_weight_decay() -> None:
    assert set(make("layer").homes) == {"hidden_bias", "bias", "norm.weight", "norm.bias"}
    assert set(make().homes) == {"hidden_bias", "bias"}
