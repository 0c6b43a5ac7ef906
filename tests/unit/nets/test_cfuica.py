"""CF-UIcA against a naive dense implementation, and its random blocks."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from nanwise.estimators.recommend.levels import level_rows
from nanwise.nets.cfuica import Both, CFUIcANet, mean_left, turn
from nanwise.nn.sparse import Rows

LEVELS = [1.0, 2.0, 3.5]
N_USERS, N_ITEMS = 9, 7


def some_ratings(
    n_users: int = N_USERS, n_items: int = N_ITEMS, density: float = 0.6, seed: int = 0
) -> sparse.csr_array:
    rng = np.random.default_rng(seed)
    dense = rng.choice(LEVELS, size=(n_users, n_items)) * (rng.random((n_users, n_items)) < density)
    return sparse.csr_array(dense)


def both(matrix: sparse.csr_array) -> Both:
    return Both(level_rows(matrix, LEVELS), level_rows(matrix.T.tocsr(), LEVELS))


def small_net(**settings) -> CFUIcANet:
    settings = {"mean_counts": (2.0, 3.0)} | settings
    with torch.random.fork_rng():
        torch.manual_seed(1)
        net = CFUIcANet(N_USERS, N_ITEMS, LEVELS, hidden=3, **settings).double()
        for parameter in net.parameters():
            torch.nn.init.normal_(parameter, std=0.5)
    return net


def seeded(function, *args, seed=5):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return function(*args)


def numbers(rows: Rows) -> torch.Tensor:
    return rows.spread(torch.arange(rows.offsets.shape[0] - 1))


def dense_code(encoder, rows: Rows) -> torch.Tensor:
    hot = torch.zeros(rows.offsets.shape[0] - 1, rows.width, len(LEVELS), dtype=torch.float64)
    hot[numbers(rows), rows.columns, rows.values] = 1
    if encoder.shared:  # 1 for all levels up to that of the rating
        hot = hot.flip(2).cumsum(2).flip(2)
    summed = torch.einsum("nwl,wlh->nh", hot, encoder.weight)
    if encoder.normalize == "sparsity":
        summed = summed * (encoder.mean_count / rows.counts().clamp(min=1)).unsqueeze(1)
    return torch.tanh(summed + encoder.bias)


def dense_scores(net: CFUIcANet, codes, users=slice(None), items=slice(None)) -> torch.Tensor:
    """Users × items × levels."""
    of_users, of_items = codes
    weight, bias = net.user_decoder.weight[items], net.user_decoder.bias[items]
    scores = torch.einsum("nh,wlh->nwl", of_users, weight) + bias
    weight, bias = net.item_decoder.weight[users], net.item_decoder.bias[users]
    scores = scores + (torch.einsum("nh,wlh->wnl", of_items, weight) + bias.unsqueeze(1))
    return scores.cumsum(2) if net.user_decoder.shared else scores


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("normalize", [None, "sparsity"])
def test_loss_and_gradients_equal_a_dense_implementation(shared, normalize):
    net, batch = small_net(shared=shared, normalize=normalize, block=4), both(some_ratings())
    loss = seeded(net.training_step, batch)
    known, cells, _ = seeded(net.draw, batch)
    codes = dense_code(net.user_encoder, known.users), dense_code(net.item_encoder, known.items)
    users, items = seeded(drawn_block, net)
    p = dense_scores(net, codes, users, items).softmax(2) + 1e-4
    costs = []
    for i, user in enumerate(users.tolist()):
        for j, item in enumerate(items.tolist()):
            level = level_at(batch.users, user, item)
            if level is not None:
                own = p[i, j]
                low = sum(torch.log(own[k] / own[: k + 1].sum()) for k in range(level + 1))
                high = sum(torch.log(own[k] / own[k:].sum()) for k in range(level, len(own)))
                costs.append(-low - high)
    expected = torch.stack(costs).mean()
    assert len(costs) == len(cells.users.values)
    assert torch.allclose(loss, expected, atol=1e-12)
    parameters = list(net.parameters())
    ours, theirs = (torch.autograd.grad(x, parameters) for x in (loss, expected))
    for one, other in zip(ours, theirs, strict=True):
        assert torch.allclose(one, other, atol=1e-11)


def drawn_block(net: CFUIcANet) -> tuple[torch.Tensor, torch.Tensor]:
    """The first numbers that a step draws: how many come before the block, and an order."""
    found = []
    for n in (N_USERS, N_ITEMS):
        low = int(0.2 * n)
        before = int(torch.randint(low, n - min(low, net.block), ()))
        found.append(torch.randperm(n)[: min(net.block, n - before)])
    return found[0], found[1]


def level_at(rows: Rows, row: int, column: int) -> int | None:
    here = slice(int(rows.offsets[row]), int(rows.offsets[row + 1]))
    found = (rows.columns[here] == column).nonzero()
    return int(rows.values[here][found[0, 0]]) if len(found) else None


@pytest.mark.parametrize("shared", [False, True])
def test_predictions_equal_a_dense_implementation(shared):
    net, known = small_net(shared=shared), both(some_ratings())
    codes = dense_code(net.user_encoder, known.users), dense_code(net.item_encoder, known.items)
    p = dense_scores(net, codes).softmax(2)
    assert torch.allclose(p.sum(2), torch.ones(N_USERS, N_ITEMS, dtype=torch.float64))
    cells = level_rows(some_ratings(seed=3), LEVELS)
    expected = (p @ net.levels)[numbers(cells), cells.columns]
    assert torch.allclose(net(known, cells), expected)
    total, count = net.validation_step((known, cells))
    assert torch.allclose(total, (expected - net.levels[cells.values]).square().sum())
    assert count == len(expected)


def test_turned_cells_of_some_users():
    cells = level_rows(some_ratings(4, N_ITEMS), LEVELS)
    users = torch.tensor([8, 2, 5, 0])
    found, across = turn(cells, users, N_USERS)
    assert torch.equal(found.items.columns[across], cells.spread(users))
    assert torch.equal(numbers(found.items)[across], cells.columns)
    assert torch.equal(found.items.values[across], cells.values)


@pytest.mark.parametrize("seed", range(5))
def test_a_block_is_predicted_from_what_is_outside_of_it(seed):
    batch = both(some_ratings(60, 40))
    net = CFUIcANet(60, 40, LEVELS, hidden=2, block=20)
    known, cells, across = seeded(net.draw, batch, seed=seed)
    # the same cells both ways, in one order after the other is taken across
    assert torch.equal(cells.users.values, cells.items.values[across])
    block_users, block_items = len(known.users.offsets) - 1, len(known.items.offsets) - 1
    assert 12 <= block_users <= 20
    assert 8 <= block_items <= 20
    # no known rating of a user is of an item to predict, nor the other way round
    assert not torch.isin(known.users.columns, cells.users.columns).any()
    assert not torch.isin(known.items.columns, cells.items.columns).any()


def test_mean_left_is_the_mean_over_draws():
    n_users, n_items, block = 30, 50, 20
    batch = both(some_ratings(n_users, n_items))
    net = CFUIcANet(n_users, n_items, LEVELS, hidden=1, block=block)

    with torch.random.fork_rng():
        torch.manual_seed(0)
        draws = [net.draw(batch)[0] for _ in range(800)]
    means = [
        np.mean([float(getattr(known, side).counts().double().mean()) for known in draws])
        for side in ("users", "items")
    ]
    expected = [
        mean_left(batch.users.counts(), n_items, block),
        mean_left(batch.items.counts(), n_users, block),
    ]
    assert means == pytest.approx(expected, rel=0.03)


def test_mean_left_of_the_paper():
    """About half the mean counts of MovieLens-1M: the published K are 66 and 110."""
    users = torch.full((6040,), 141.0)
    items = torch.full((3706,), 216.0)
    assert mean_left(users, 3706) == pytest.approx(70.5, rel=0.01)
    assert mean_left(items, 6040) == pytest.approx(111.6, rel=0.01)
    assert mean_left(torch.tensor([0, 0]), 5) == 1.0


@pytest.mark.parametrize(("n_users", "n_items"), [(1, 1), (1, 30), (4, 3)])
def test_the_smallest_tables_have_a_loss(n_users, n_items):
    batch = both(sparse.csr_array(np.full((n_users, n_items), 2.0)))
    net = CFUIcANet(n_users, n_items, LEVELS, hidden=2)
    for seed in range(5):
        loss = seeded(net.training_step, batch, seed=seed)
        loss.backward()
        assert loss.isfinite()


@pytest.mark.parametrize("shared", [True, False])
def test_starts_at_the_frequencies_of_item_and_user(shared):
    """With codes of 0 the odds of two levels are those of the item times those of the user."""
    matrix = some_ratings()
    net = CFUIcANet(N_USERS, N_ITEMS, LEVELS, hidden=3, shared=shared).double()
    net.start_at(both(matrix))
    for parameter in (net.user_decoder.weight, net.item_decoder.weight):
        torch.nn.init.zeros_(parameter)
    everywhere = level_rows(sparse.csr_array(np.ones((N_USERS, N_ITEMS))), LEVELS)
    cells, across = turn(everywhere, torch.arange(N_USERS), N_USERS)
    scores = net.scores(net.codes(both(matrix)), cells, across)
    counts = np.stack([(matrix.toarray() == level) for level in LEVELS], -1)
    overall = (counts.sum((0, 1)) + 1) / (counts.sum() + len(LEVELS))
    of_item, of_user = (
        (counts.sum(axis) + 5 * overall) / (counts.sum(axis).sum(-1, keepdims=True) + 5)
        for axis in (0, 1)
    )
    expected = of_item[None] * of_user[:, None] / overall
    expected /= expected.sum(-1, keepdims=True)
    found = scores.softmax(-1).detach().numpy().reshape(expected.shape)
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_never_makes_users_times_items():
    n = 100_000  # 120 GB of scores, were they all made
    rng = np.random.default_rng(0)
    matrix = sparse.csr_array(
        (rng.choice(LEVELS, n), (np.arange(n), rng.permutation(n))), shape=(n, n)
    )
    batch = both(matrix)
    net = CFUIcANet(n, n, LEVELS, hidden=2, normalize="sparsity")
    seeded(net.training_step, batch).backward()
    total, count = net.validation_step((batch, batch.users))
    assert total.isfinite()
    assert count == n
