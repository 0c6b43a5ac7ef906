"""CF-NADE against a naive dense implementation, and its random splits."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from nanwise.estimators.recommend.levels import LevelSource, level_rows
from nanwise.nets.cfnade import CFNADENet, mean_known, split_at_random
from nanwise.nets.levels import LevelDecoder, LevelEncoder, keep, level_frequencies
from nanwise.nn.sparse import Rows
from nanwise.train import Plan, train

LEVELS = [0.5, 1.0, 2.5, 4.0]


def some_rows(n: int = 7, width: int = 6, seed: int = 0, density: float = 0.6) -> Rows:
    rng = np.random.default_rng(seed)
    dense = rng.choice(LEVELS, size=(n, width)) * (rng.random((n, width)) < density)
    dense[0] = 0.0  # a row without ratings
    return level_rows(sparse.csr_array(dense), LEVELS)


def small_net(width: int = 6, **settings) -> CFNADENet:
    with torch.random.fork_rng():
        torch.manual_seed(1)
        net = CFNADENet(width, LEVELS, hidden=3, mean_count=2.5, **settings).double()
        for parameter in net.parameters():
            torch.nn.init.normal_(parameter, std=0.5)
    return net


def seeded(function, *args):
    with torch.random.fork_rng():
        torch.manual_seed(5)
        return function(*args)


def dense_code(net: CFNADENet, known: Rows) -> torch.Tensor:
    """Hidden units from one-hot vectors of (column, level), row by row."""
    weight = net.encoder.weight
    n, width, levels = known.offsets.shape[0] - 1, *weight.shape[:2]
    hot = torch.zeros(n, width, levels, dtype=torch.float64)
    for row in range(n):
        for cell in range(int(known.offsets[row]), int(known.offsets[row + 1])):
            level = int(known.values[cell])
            first = 0 if net.encoder.shared else level
            hot[row, known.columns[cell], first : level + 1] = 1
    summed = torch.einsum("nwl,wlh->nh", hot, weight)
    if net.encoder.normalize == "sparsity":
        count = known.counts().clamp(min=1).double()
        summed = summed * (net.encoder.mean_count / count).pow(net.encoder.power).unsqueeze(1)
    if net.encoder.normalize == "rate":
        summed = summed * width / net.encoder.mean_count
    return torch.tanh(summed + net.encoder.bias)


def dense_probabilities(net: CFNADENet, code: torch.Tensor) -> torch.Tensor:
    """All rows × columns × levels."""
    scores = torch.einsum("nh,wlh->nwl", code, net.decoder.weight) + net.decoder.bias
    return (scores.cumsum(2) if net.decoder.shared else scores).softmax(2)


def dense_loss(net: CFNADENet, known: Rows, targets: Rows, counts: torch.Tensor) -> torch.Tensor:
    p, total, n = dense_probabilities(net, dense_code(net, known)), 0.0, len(counts)
    for row in range(n):
        cells = range(int(targets.offsets[row]), int(targets.offsets[row + 1]))
        cost = 0.0
        for cell in cells:
            own, r = p[row, targets.columns[cell]], int(targets.values[cell])
            low = sum(torch.log(own[j] / own[: j + 1].sum()) for j in range(r + 1))
            high = sum(torch.log(own[j] / own[j:].sum()) for j in range(r, len(own)))
            ordinal, plain = -low - high, -torch.log(own[r])
            cost = cost + net.ordinal * ordinal + (1 - net.ordinal) * plain
        total = total + cost * counts[row] / max(len(cells), 1)
    return total / n


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("normalize", [None, "sparsity", "rate"])
@pytest.mark.parametrize("ordinal", [1.0, 0.3])
def test_loss_and_gradients_equal_a_dense_implementation(shared, normalize, ordinal):
    rows = some_rows()
    net = small_net(shared=shared, normalize=normalize, ordinal=ordinal)
    loss = seeded(net.training_step, rows)
    known, targets, _ = seeded(split_at_random, rows)
    expected = dense_loss(net, known, targets, rows.counts())
    assert torch.allclose(loss, expected, atol=1e-12)
    parameters = list(net.parameters())
    found = torch.autograd.grad(loss, parameters)
    for ours, theirs in zip(found, torch.autograd.grad(expected, parameters), strict=True):
        assert torch.allclose(ours, theirs, atol=1e-11)


@pytest.mark.parametrize("shared", [False, True])
def test_predictions_equal_a_dense_implementation(shared):
    net, known, cells = small_net(shared=shared), some_rows(seed=1), some_rows(seed=2)
    p = dense_probabilities(net, dense_code(net, known))
    everywhere = p @ net.levels
    assert torch.allclose(p.sum(2), torch.ones(7, 6, dtype=torch.float64))
    row = cells.spread(torch.arange(7))
    assert torch.allclose(net(known, cells), everywhere[row, cells.columns])
    total, count = net.validation_step((known, cells))
    errors = everywhere[row, cells.columns] - net.levels[cells.values]
    assert torch.allclose(total, errors.square().sum())
    assert count == len(row)
    columns = torch.tensor([4, 1])
    code = net.code(known)
    assert torch.allclose(net.decoder.across(code, columns).softmax(2), p[:, columns])
    mean = torch.stack([net.decoder.across(code, c.view(1)) for c in columns]).mean(0)
    assert torch.allclose(net.decoder.average(code, columns), mean.squeeze(1))


def test_batch_and_layer_normalisation_stand_behind_the_sum():
    rows = some_rows()
    plain = small_net().encoder
    for normalize, reference in [("batch", torch.nn.BatchNorm1d), ("layer", torch.nn.LayerNorm)]:
        encoder = LevelEncoder(6, 4, 3, normalize=normalize).double()
        with torch.no_grad():
            encoder.weight.copy_(plain.weight)
        summed = plain(rows) - plain.bias
        assert torch.allclose(encoder(rows), reference(3).double()(summed))
        assert set(encoder.homes) == {"bias", "norm.weight", "norm.bias"}


def test_sparsity_normalisation_leaves_the_expected_size_alone():
    encoder = LevelEncoder(50, 2, 1, normalize="sparsity", mean_count=12.0)
    torch.nn.init.ones_(encoder.weight)
    counts = [1, 5, 40, 0]
    dense = np.zeros((4, 50))
    for row, count in enumerate(counts):
        dense[row, :count] = 2.0
    codes = encoder(level_rows(sparse.csr_array(dense), [1.0, 2.0])).flatten()
    assert torch.allclose(codes, torch.tensor([12.0, 12.0, 12.0, 0.0]))


def test_split_parts_every_row_and_weighs_what_is_left():
    rows = some_rows(n=40, width=15)
    known, targets, weight = split_at_random(rows)
    both = known.counts() + targets.counts()
    assert torch.equal(both, rows.counts())
    rated = rows.counts() > 0
    assert (targets.counts()[rated] >= 1).all()
    expected = targets.spread(rows.counts() / targets.counts().clamp(min=1))
    assert torch.allclose(weight, expected)
    for part in (known, targets):
        pairs = part.spread(torch.arange(40)) * 15 + part.columns
        everything = rows.spread(torch.arange(40)) * 15 + rows.columns
        assert torch.isin(pairs, everything).all()
        where = torch.searchsorted(everything, pairs)
        assert torch.equal(rows.values[where], part.values)


def test_number_and_choice_of_known_ratings_are_uniform():
    n, width = 30_000, 4
    rows = Rows(
        torch.zeros(n * width, dtype=torch.int64),
        torch.arange(width).repeat(n),
        torch.arange(0, n * width + 1, width),
        width,
    )
    known, _, _ = seeded(split_at_random, rows)
    share = torch.bincount(known.counts(), minlength=width + 1) / n
    assert torch.allclose(share, torch.tensor([0.25] * 4 + [0.0]), atol=0.012)
    # each column is known with probability E[d] / D = 1.5 / 4
    chosen = torch.bincount(known.columns, minlength=width) / n
    assert torch.allclose(chosen, torch.full((4,), 0.375), atol=0.012)
    assert float(known.counts().double().mean()) == pytest.approx(mean_known(rows.counts()), 0.01)


def test_mean_known_skips_empty_rows():
    assert mean_known(torch.tensor([0, 5, 9, 0])) == pytest.approx((2 + 4) / 2)
    assert mean_known(torch.tensor([0, 1])) == 1.0
    assert mean_known(torch.tensor([0])) == 1.0


@pytest.mark.parametrize("shared", [False, True])
def test_begins_with_the_frequencies_of_each_column(shared):
    rows = some_rows(n=50, density=0.5)
    frequency = level_frequencies(rows, len(LEVELS))
    assert torch.allclose(frequency.sum(1), torch.ones(6, dtype=torch.float64))
    assert (frequency > 0).all()
    decoder = LevelDecoder(6, len(LEVELS), 3, shared=shared).double()
    decoder.start_at(frequency)
    found = decoder(torch.zeros(50, 3, dtype=torch.float64), rows).softmax(1)
    assert torch.allclose(found, frequency[rows.columns])


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("normalize", ["sparsity", None, "rate"])
def test_begins_with_the_shift_of_the_row(shared, normalize):
    """One hidden unit is the mean deviation from the columns' means and shifts all levels."""
    rows = some_rows(n=50, density=0.5)
    settings = {"shared": shared, "normalize": normalize, "mean_count": 2.5}
    net = CFNADENet(6, LEVELS, hidden=3, **settings).double()
    net.start_at(rows)
    for part in (net.encoder, net.decoder):
        torch.nn.init.zeros_(part.weight[:, :, 1:])
    frequency, levels = level_frequencies(rows, len(LEVELS)), torch.tensor(LEVELS)
    means = frequency @ levels.double()
    spread = ((levels - means[:, None]) ** 2 * frequency).sum(1).mean().sqrt()
    away = (levels[rows.values] - means[rows.columns]) / spread
    number = rows.spread(torch.arange(50))
    shift = torch.zeros(50, dtype=torch.float64).index_add(0, number, away)
    shift = torch.tanh(shift / (rows.counts().clamp(min=1) if normalize == "sparsity" else 2.5))
    slope = (levels - levels.mean()) / spread
    expected = frequency.log()[rows.columns] + shift[number, None] * slope
    found = net.decoder(net.code(rows), rows)
    assert torch.allclose(found.softmax(1), expected.softmax(1))


def test_frequencies_follow_the_counts():
    rows = level_rows(sparse.csr_array(np.array([[4.0, 1.0], [4.0, 0.0], [0.5, 0.0]])), LEVELS)
    counts = torch.tensor([[1.0, 0, 0, 2], [0, 1, 0, 0]], dtype=torch.float64)
    overall = (counts.sum(0) + 1) / (counts.sum() + 4)
    expected = (counts + overall) / torch.tensor([[4.0], [2.0]], dtype=torch.float64)
    assert torch.allclose(level_frequencies(rows, 4, prior=1.0), expected)


def test_keep_drops_cells_and_no_rows():
    rows = some_rows()
    kept = keep(rows, rows.values == 2)
    assert kept.offsets.shape == rows.offsets.shape
    assert (kept.values == 2).all()
    assert len(kept.values) == int((rows.values == 2).sum())


def test_never_makes_rows_times_columns():
    n = width = 200_000  # 800 GB of scores, were they all made
    cells = torch.randperm(width)
    rows = Rows(torch.randint(0, 4, (n,)), cells, torch.arange(n + 1), width)
    net = CFNADENet(width, LEVELS, hidden=2, normalize="sparsity")
    net.training_step(rows).backward()
    total, count = net.validation_step((rows, rows))
    assert total.isfinite()
    assert count == n
    assert net.encoder.weight.grad.shape == (width, 4, 2)


class Stops(LevelSource):
    """A source that dies after some batches, like a killed process."""

    left = 10**9

    def __getitem__(self, index):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return super().__getitem__(index)


def test_killed_training_goes_on_to_the_same_weights(tmp_path):
    rows = some_rows(n=30)
    plan = Plan(epochs=6, batch=10, checkpoint=tmp_path, checkpoint_every=2, optimizer="adam")
    whole, cut = small_net().float(), small_net().float()
    train(whole, LevelSource(rows), plan, seed=3)
    dying = Stops(rows)
    dying.left = 1 + 3 * 5 + 1
    with pytest.raises(KeyboardInterrupt):
        train(cut, dying, plan, seed=3)
    again = small_net().float()
    history = train(again, LevelSource(rows), plan, seed=3)
    assert len(history) == 6
    for ours, theirs in zip(again.parameters(), whole.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_biases_are_spared_by_weight_decay():
    net = small_net()
    net.start_at(some_rows())
    before = net.decoder.bias.detach().clone()
    rows = some_rows()
    plan = Plan(epochs=1, batch=None, lr=1e-9, optimizer="sgd", weight_decay=1e6, schedule=None)
    weights = net.decoder.weight.detach().clone()
    train(net, LevelSource(rows), plan, seed=0)
    assert torch.allclose(net.decoder.bias, before, atol=1e-6)
    assert not torch.allclose(net.decoder.weight, weights, atol=1e-6)


def test_training_lowers_the_cost():
    rows = some_rows(n=60, width=10)
    net = CFNADENet(10, LEVELS, hidden=8)

    @torch.no_grad()
    def cost() -> float:
        return float(np.mean([net.training_step(rows).item() for _ in range(20)]))

    first = seeded(cost)
    train(net, LevelSource(rows), Plan(epochs=60, lr=0.01, optimizer="adam"), seed=0)
    assert seeded(cost) < 0.9 * first
