from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from nanwise.errors import TrainingError
from nanwise.train import Plan, train


class Memory:
    """Rows in memory; counts how often each was asked for."""

    def __init__(self, *parts: Tensor) -> None:
        self.parts = parts
        self.asked: list[Tensor] = []

    def __len__(self) -> int:
        return len(self.parts[0])

    def __getitem__(self, index: Tensor) -> tuple[Tensor, ...]:
        self.asked.append(index)
        return tuple(part[index] for part in self.parts)


class Net(nn.Module):
    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.first = nn.Linear(3, 8)
        self.drop = nn.Dropout(dropout)
        self.last = nn.Linear(8, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.drop(self.first(x).tanh()))[:, 0]

    def training_step(self, batch: Any, phase: str = "main") -> Tensor:
        total, count = self.validation_step(batch)
        return total / count

    def validation_step(self, batch: Any) -> tuple[Tensor, Tensor]:
        x, y = batch
        return ((self(x) - y) ** 2).sum(), torch.tensor(len(y))


def rows(n: int = 200, seed: int = 0, noise: float = 0.1) -> Memory:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 3, generator=generator)
    return Memory(x, x[:, 0] - x[:, 1] + noise * torch.randn(n, generator=generator))


def make(dropout: float = 0.0) -> Net:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Net(dropout)


def weights(net: nn.Module) -> list[Tensor]:
    return [value.clone() for value in net.state_dict().values()]


def equal(one: nn.Module, other: nn.Module) -> bool:
    return all(map(torch.equal, weights(one), weights(other)))


def test_learns_and_tells_how() -> None:
    net = make()
    history = train(net, rows(), Plan(epochs=40, batch=20, lr=1e-2), seed=1, validation=rows(50, 1))
    assert [h["epoch"] for h in history] == list(range(1, len(history) + 1))
    assert set(history[0]) == {"epoch", "train_loss", "valid_loss", "lr", "seconds"}
    assert history[-1]["valid_loss"] < 0.2 < history[0]["valid_loss"]
    assert not net.training
    assert all(p.grad is None and p.device.type == "cpu" for p in net.parameters())


def test_the_training_loss_is_the_mean_over_rows() -> None:
    net, source = make(), rows(103)
    with torch.no_grad():
        expected = float(net.training_step(source.parts))
    history = train(net, source, Plan(epochs=1, batch=10, lr=1e-12), seed=1)
    assert history[0]["train_loss"] == pytest.approx(expected, rel=1e-5)
    assert history[0]["valid_loss"] is None


def test_every_row_once_per_epoch_in_batches_of_nearly_equal_size() -> None:
    source = rows(103)
    train(make(), source, Plan(epochs=2, batch=10), seed=1)
    assert len(source.asked) == 22
    assert {len(index) for index in source.asked} == {9, 10}
    for epoch in (source.asked[:11], source.asked[11:]):
        assert torch.equal(torch.cat(epoch).sort().values, torch.arange(103))
    assert not torch.equal(torch.cat(source.asked[:11]), torch.cat(source.asked[11:]))


def test_batch_none_takes_all_rows_at_once() -> None:
    source = rows(50)
    train(make(), source, Plan(epochs=3, batch=None), seed=1)
    assert [len(index) for index in source.asked] == [50, 50, 50]


def test_same_seed_same_result_and_other_seed_another() -> None:
    nets = [make(dropout=0.5) for _ in range(3)]
    for net, seed in zip(nets, (1, 1, 2), strict=True):
        train(net, rows(), Plan(epochs=3), seed=seed)
    assert equal(nets[0], nets[1])
    assert not equal(nets[0], nets[2])


def test_the_global_generator_is_untouched() -> None:
    torch.manual_seed(7)
    before = torch.random.get_rng_state()
    train(make(dropout=0.5), rows(), Plan(epochs=2), seed=1)
    assert torch.equal(before, torch.random.get_rng_state())


@pytest.mark.parametrize("patience", [3, None], ids=["stopped early", "ran to the end"])
def test_the_best_weights_come_back(patience: int | None) -> None:
    # a small, noisy training set is learnt by heart: validation gets worse after a while
    net, validation = make(), rows(100, 1, noise=1.0)
    plan = Plan(epochs=60, batch=None, lr=0.05, patience=patience)
    history = train(net, rows(12, noise=2.0), plan, seed=1, validation=validation)
    losses = [h["valid_loss"] for h in history]
    best = losses.index(min(losses))
    assert best < len(losses) - 1
    assert len(history) == (60 if patience is None else best + 1 + patience)
    with torch.no_grad():
        total, count = net.validation_step(validation.parts)
    assert float(total / count) == pytest.approx(min(losses), rel=1e-5)


def test_an_empty_validation_source_is_none() -> None:
    empty = Memory(torch.zeros(0, 3), torch.zeros(0))
    history = train(make(), rows(), Plan(epochs=1), seed=1, validation=empty)
    assert history[0]["valid_loss"] is None


def test_clipping_limits_the_step() -> None:
    source = Memory(torch.randn(64, 3), 1e4 * torch.ones(64))
    moved = []
    for clip in (None, 1e-3):
        net = make()
        before = weights(net)
        plan = Plan(
            epochs=1,
            batch=None,
            lr=0.1,
            optimizer="sgd",
            weight_decay=0.0,
            schedule=None,
            clip=clip,
        )
        train(net, source, plan, seed=1)
        moved.append(max(float((a - b).abs().max()) for a, b in zip(before, weights(net))))  # noqa: B905
    # the first Nesterov step is lr * 1.9 * gradient
    assert moved[0] > 1 > 1.9e-4 * 1.01 > moved[1] > 0


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "sgd", "rmsprop"])
def test_every_optimizer_learns(optimizer: str) -> None:
    plan = Plan(epochs=30, batch=20, lr=1e-2, optimizer=optimizer, weight_decay=1e-4)
    history = train(make(), rows(), plan, seed=1)
    assert history[-1]["train_loss"] < 0.3 * history[0]["train_loss"]


def test_the_fused_optimizer_agrees_with_the_plain_one_in_any_memory_layout() -> None:
    source, net = rows(), make()
    net.first.weight = nn.Parameter(net.first.weight.detach().t().contiguous().t())
    plain = make()
    optimizer = torch.optim.Adam(plain.parameters(), lr=1e-2, foreach=False)
    plan = Plan(epochs=20, batch=None, lr=1e-2, optimizer="adam", weight_decay=0.0, schedule=None)
    train(net, source, plan, seed=1)
    for _ in range(20):
        optimizer.zero_grad()
        plain.training_step(source.parts).backward()
        optimizer.step()
    for ours, theirs in zip(weights(net), weights(plain), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_weight_decay_shrinks_weights_and_spares_single_numbers() -> None:
    class Scaled(Net):
        def __init__(self) -> None:
            super().__init__()
            self.power = nn.Parameter(torch.tensor(1.0))

        def validation_step(self, batch: Any) -> tuple[Tensor, Tensor]:
            # no gradient but from decay
            return 0 * (self(batch[0]).sum() + self.power), torch.tensor(1)

    net = Scaled()
    before = net.first.weight.detach().clone()
    plan = Plan(epochs=10, batch=None, lr=0.1, weight_decay=0.5, schedule=None)
    train(net, rows(), plan, seed=1)
    assert net.power == 1
    torch.testing.assert_close(net.first.weight.detach(), before * 0.95**10)


def test_schedules() -> None:
    rates = {}
    for schedule in (None, "cosine", "plateau", "onecycle", "steps"):
        plan = Plan(epochs=20, batch=50, lr=0.1, schedule=schedule, patience=2, optimizer="sgd")
        # a target of noise alone: no progress after the first epochs
        source = Memory(torch.zeros(100, 3), torch.randn(100))
        rates[schedule] = [h["lr"] for h in train(make(), source, plan, seed=1)]
    assert set(rates[None]) == {0.1}
    expected = [0.05 * (1 + math.cos(math.pi * e / 20)) for e in range(20)]
    assert rates["cosine"] == pytest.approx(expected)
    assert rates["plateau"][0] == 0.1 > rates["plateau"][-1]
    assert rates["steps"] == pytest.approx([0.1] * 9 + [0.01] * 9 + [0.001] * 2)
    peak = rates["onecycle"].index(max(rates["onecycle"]))
    assert 0 < peak < 19
    assert rates["onecycle"][-1] < rates["onecycle"][0] < 0.1


def test_progress_only_when_asked_for(capsys: pytest.CaptureFixture) -> None:
    train(make(), rows(), Plan(epochs=2), seed=1)
    assert capsys.readouterr() == ("", "")
    train(make(), rows(), Plan(epochs=2, progress=True), seed=1)
    assert "2/2" in capsys.readouterr().err


def test_no_rows_is_refused() -> None:
    with pytest.raises(ValueError, match="no rows"):
        train(make(), rows(0), Plan(), seed=1)


@pytest.mark.parametrize("device", ["gpu0", "meta", "cuda:99"])
def test_an_unknown_device_is_refused(device: str) -> None:
    with pytest.raises(ValueError, match="device"):
        train(make(), rows(), Plan(epochs=1), seed=1, device=device)


@pytest.mark.parametrize("device", ["cpu", "auto", torch.device("cpu")])
def test_devices_by_name(device: Any) -> None:
    assert len(train(make(), rows(), Plan(epochs=1), seed=1, device=device)) == 1


# -- a loss that is not a number -----------------------------------------------------------------


def test_an_infinite_input_is_named_by_column() -> None:
    source = rows()  # tanh makes a finite loss of it; only the gradient is not
    source.parts[0][11, 2] = math.inf
    with pytest.raises(TrainingError, match=r"epoch 1: input column 'age' holds inf"):
        train(make(), source, Plan(epochs=2), seed=1, names=["a", "b", "age"])


def test_a_bad_parameter_is_named() -> None:
    net = make()
    net.last.bias.data[0] = math.nan
    with pytest.raises(TrainingError, match=r"parameter 'last.bias'"):
        train(net, rows(), Plan(epochs=1), seed=1, names=["a", "b", "c"])


def test_a_bad_layer_is_named() -> None:
    class Log(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.log()

    net = make()
    net.drop = Log()
    with pytest.raises(TrainingError, match=r"layer 'drop' \(Log\)"):
        train(net, rows(), Plan(epochs=1), seed=1)


def test_divergence_is_reported_with_its_epoch_and_remedies() -> None:
    with pytest.raises(TrainingError, match=r"epoch \d+: .*smaller lr \(now 1e\+30\).*clip"):
        train(make(), rows(), Plan(epochs=50, lr=1e30, optimizer="sgd"), seed=1)


def test_a_bad_target_is_named_last() -> None:
    source = rows()
    source.parts[1][:] = math.nan
    with pytest.raises(TrainingError, match="tensor 1 of the batch"):
        train(make(), source, Plan(epochs=1), seed=1, names=["a", "b", "c"])


def test_a_bad_validation_loss_stops_too() -> None:
    validation = rows(20, 1)
    validation.parts[0][3, 0] = math.nan
    with pytest.raises(TrainingError, match="epoch 1: input column 'a' holds nan"):
        train(make(), rows(), Plan(epochs=1), seed=1, validation=validation, names=list("abc"))


def test_weights_that_break_in_the_last_step_are_noticed() -> None:
    class Root(Net):
        def training_step(self, batch: Any, phase: str = "main") -> Tensor:
            return (self.last.bias * 0).sqrt().sum()  # 0, with the gradient 0 * inf

    with pytest.raises(TrainingError, match=r"parameter 'last.bias'"):
        train(Root(), rows(), Plan(epochs=1, batch=None), seed=1)
