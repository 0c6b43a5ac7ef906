"""One training run: epochs, validation, early stopping, checkpoints."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from nanwise.errors import TrainingError
from nanwise.train.batches import Batches, every_nth, mix
from nanwise.train.checkpoint import Checkpoint, fingerprint
from nanwise.train.diagnose import first_fault
from nanwise.train.monitor import Ranking
from nanwise.train.players import make_players

if TYPE_CHECKING:
    from nanwise.train.loop import Source
    from nanwise.train.plan import Plan

History = list[dict[str, Any]]

#: rows per validation block; without gradients memory is no concern, and large products are fast
VALIDATION_BLOCK = 4096


class Run:
    """State of one training run."""

    def __init__(
        self,
        fabric: Any,
        module: nn.Module,
        source: Source,
        validation: Source | None,
        plan: Plan,
        seed: int,
        names: Sequence[Any] | None,
    ) -> None:
        self.fabric, self.module, self.plan, self.names = fabric, module, plan, names
        self.source, self.validation, self.seed = source, validation, seed
        self.alone = fabric.world_size == 1
        self.batches = Batches(
            len(source), plan.batch, seed, rank=fabric.global_rank, world=fabric.world_size
        )
        self.players = make_players(fabric, module, plan, self.batches.steps)
        self.history: History = []
        self.best_loss, self.waited = math.inf, 0
        self.best: dict[str, Tensor] | None = None
        _let_memory_stay()
        self._agree(len(source), "training rows; each must be given all rows")
        self.checkpoint = self._open_checkpoint()

    def run(self) -> History:
        """All epochs, then the best weights."""
        with self._bar() as bar:
            while len(self.history) < self.plan.epochs and not self._is_over():
                self._epoch(len(self.history) + 1)
                self._save()
                _show(bar, self.history[-1])
        if self.best is not None:
            self.module.load_state_dict(self.best)
        if self.checkpoint is not None:
            # nobody may still be on the way to an epoch that a restart would need
            self.fabric.barrier()
            self._alone_on_disk(self.checkpoint.remove)
        return self.history

    def release(self) -> None:
        """Give the module back as it came: on the CPU, without traces of Fabric or gradients."""
        # Fabric redirects `training_step` through an instance attribute that would shadow the class
        self.module.__dict__.pop("forward", None)
        self.module.zero_grad(set_to_none=True)
        self.module.to("cpu").eval()

    # -- checkpoints ---------------------------------------------------------------------------

    def _open_checkpoint(self) -> Checkpoint | None:
        if self.plan.checkpoint is None:
            return None
        sources = (self.source, self.validation)
        name = fingerprint(self.module, self.plan, self.seed, sources, self.fabric.world_size)
        found = Checkpoint(self.plan.checkpoint, name)
        state = found.read()
        epochs = 0 if state is None else len(state["history"])
        self._agree(epochs, f"epochs in the checkpoint {found.path}, a folder all must share")
        if state is not None:
            self._resume(state)
        return found

    def _agree(self, number: int, what: str) -> None:
        """Stop all processes if they would do different things and wait for each other."""
        if self.alone:
            return
        found = self.fabric.all_gather(torch.tensor(number)).tolist()
        if len(set(found)) > 1:
            raise TrainingError(f"the processes have different numbers of {what}: {found}")

    def _resume(self, state: dict[str, Any]) -> None:
        self.module.load_state_dict(state["weights"])
        for name, player in self.players.items():
            player.load_state_dict(state["players"][name])
        self.history = state["history"]
        self.best, self.best_loss, self.waited = (state[k] for k in ("best", "best_loss", "waited"))

    def _save(self) -> None:
        checkpoint = self.checkpoint
        if checkpoint is None or len(self.history) % self.plan.checkpoint_every:
            return
        state = {
            "weights": dict(self.module.state_dict()),
            "players": {name: player.state_dict() for name, player in self.players.items()},
            "history": self.history,
            "best": self.best,
            "best_loss": self.best_loss,
            "waited": self.waited,
        }
        self._alone_on_disk(lambda: checkpoint.write(state))

    def _alone_on_disk(self, act: Callable[[], None]) -> None:
        if self.fabric.global_rank == 0:
            act()

    # -- epochs --------------------------------------------------------------------------------

    def _bar(self) -> Any:
        from tqdm.auto import tqdm

        hidden = not self.plan.progress or self.fabric.global_rank != 0
        return tqdm(total=self.plan.epochs, initial=len(self.history), unit="epoch", disable=hidden)

    def _epoch(self, epoch: int) -> None:
        start = time.perf_counter()
        lr = next(iter(self.players.values())).rate
        _seed(self.fabric.device, mix(self.seed, epoch, self.fabric.global_rank))
        _announce(self.module, epoch, self.plan.epochs)
        losses = self._train(epoch)
        train_loss = list(losses.values())[-1]
        valid_loss, auroc = (None, None)
        if self.validation is not None:
            valid_loss, auroc = self._validate(epoch, self.validation)
        watched = valid_loss if auroc is None else 1 - auroc
        for player in self.players.values():
            player.schedule.epoch(train_loss if watched is None else watched)
        if watched is not None:
            self._compare(watched)
        self.history.append(
            {
                "epoch": epoch,
                "train_loss": train_loss,
                "valid_loss": valid_loss,
                "lr": lr,
                "seconds": time.perf_counter() - start,
            }
            | ({"losses": losses} if len(self.players) > 1 else {})
            | ({} if auroc is None else {"valid_auroc": auroc})
        )

    def _train(self, epoch: int) -> dict[str, float]:
        """One pass; of every player that played, its mean loss over all processes."""
        self.module.train()
        on_cpu = self.fabric.device.type == "cpu"
        # Looking at each loss is free on one CPU. A GPU would wait for it, and of several processes
        # none may leave alone: these look at the sum after the pass, together.
        watch = self.alone and on_cpu
        # per player: sum of the losses, and how many rows they are of
        sums: list[float | Tensor] = [0.0] * len(self.players)
        counts = [0] * len(self.players)
        first = (epoch - 1) * self.batches.steps
        for number, rows in enumerate(self.batches.epoch(epoch), first):
            batch = self.source[rows]
            if not on_cpu:
                batch = self.fabric.to_device(batch)
            for i, player in enumerate(self.players.values()):
                if number % player.every:
                    continue
                loss = player.loss(batch)
                value = loss.item() if watch else loss.detach().double()
                if watch and not math.isfinite(value):
                    raise self._fault(epoch, self.source, self.batches.epoch(epoch), batch)
                player.update(loss)
                sums[i] += value * len(rows)
                counts[i] += len(rows)
        self._share_buffers()
        found = [[float(total), rows] for total, rows in zip(sums, counts, strict=True)]
        totals = torch.tensor(found, dtype=torch.float64, device=self.fabric.device)
        return self._means(epoch, self._sum(totals).tolist())

    def _means(self, epoch: int, totals: list[list[float]]) -> dict[str, float]:
        found = zip(self.players, totals, strict=True)
        means = {name: total / rows for name, (total, rows) in found if rows}
        # a gradient can break the weights in the last step, after the last loss
        finite = all(map(math.isfinite, means.values()))
        if not finite or not all(_finite(p) for p in self.module.parameters()):
            raise self._fault(epoch, self.source, self.batches.epoch(epoch))
        return means

    @torch.no_grad()
    def _validate(self, epoch: int, source: Source) -> tuple[float, float | None]:
        """Mean loss over the validation rows of all processes, and their AUROC if it is watched."""
        self.module.eval()
        ranking = Ranking() if self.plan.monitor == "auroc" else None
        size = getattr(source, "block", VALIDATION_BLOCK)
        total = torch.zeros(2, dtype=torch.float64, device=self.fabric.device)
        blocks = every_nth(len(source), size, self.fabric.global_rank, self.fabric.world_size)
        for rows in blocks:
            batch = self.fabric.to_device(source[rows])
            if ranking is None:
                losses, count = self.module.validation_step(batch)  # type: ignore[operator]
            else:
                losses, count, *scored = self.module.scored_step(batch)  # type: ignore[operator]
                ranking.add(*scored)
            total += torch.stack((losses.double(), torch.as_tensor(count).double()))
        losses, count = self._sum(total).tolist()
        if count == 0:
            raise TrainingError("the validation rows hold nothing that is scored; use other rows")
        if not math.isfinite(losses):
            raise self._fault(epoch, source, blocks)
        return losses / count, None if ranking is None else ranking.auroc(self.alone)

    def _compare(self, loss: float) -> None:
        if loss < self.best_loss:
            self.best_loss, self.waited = loss, 0
            self._keep()
        else:
            self.waited += 1

    @torch.no_grad()
    def _keep(self) -> None:
        now = self.module.state_dict()
        if self.best is None:
            self.best = {name: value.clone() for name, value in now.items()}
            return
        for name, value in now.items():
            self.best[name].copy_(value)

    def _is_over(self) -> bool:
        patience = self.plan.patience
        return (patience is not None and self.waited >= patience) or self._has_settled()

    def _has_settled(self) -> bool:
        """Asked of the history, which a checkpoint holds and all processes share."""
        if self.plan.tol is None or len(self.history) < 2:
            return False
        before, now = (epoch["train_loss"] for epoch in self.history[-2:])
        return abs(now - before) <= self.plan.tol

    def _share_buffers(self) -> None:
        """Each process learns running averages from its own rows: take those of the first."""
        if not self.alone:
            for buffer in self.module.buffers():
                torch.distributed.broadcast(buffer, 0)

    def _sum(self, value: Tensor) -> Tensor:
        return value if self.alone else self.fabric.all_reduce(value, reduce_op="sum")

    def _fault(
        self, epoch: int, source: Any, blocks: tuple[Tensor, ...], batch: Any = None
    ) -> TrainingError:
        """``batch`` is where it showed, ``blocks`` of ``source`` where it may come from."""

        def batches() -> Iterator[Any]:
            yield from () if batch is None else (batch,)
            yield from (self.fabric.to_device(source[rows]) for rows in blocks)

        fault = first_fault(self.module, batches, self.names)
        return TrainingError(
            f"the loss is not finite any more in epoch {epoch}: {fault}. "
            f"Check the input, or train with a smaller lr (now {self.plan.lr:g}) or with clip."
        )


def _seed(device: torch.device, seed: int) -> None:
    """Seed what the module draws from, and nothing else.

    ``torch.manual_seed`` also queues a call, with a stack trace, for every kind of accelerator that
    is not in use: a quarter of the time of a small fit.
    """
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.manual_seed(seed)


def _announce(module: nn.Module, epoch: int, epochs: int) -> None:
    """Tell a module that changes its loss with time where the run is; others do not ask."""
    begin = getattr(module, "begin_epoch", None)
    if begin is not None:
        begin(epoch, epochs)


def _let_memory_stay() -> None:
    """Make glibc keep what a step frees for the next step.

    It hands large freed blocks back to the system, which clears them page by page when the next
    step asks again, until it has seen one freed that is larger. This one is never touched, so it
    costs nothing; steps with activations of some MB are 5 to 10 % faster.
    """
    torch.empty(30 << 20, dtype=torch.uint8)


def _show(bar: Any, record: dict[str, Any]) -> None:
    losses = {"train": record["train_loss"], "valid": record["valid_loss"]}
    bar.set_postfix({k: f"{v:.4g}" for k, v in losses.items() if v is not None}, refresh=False)
    bar.update()


def _finite(parameter: Tensor) -> bool:
    """Whether all weights are numbers; by the ends, since a copy of large ones takes memory."""
    if not parameter.numel():
        return True
    low, high = parameter.detach().aminmax()
    return math.isfinite(low) and math.isfinite(high)
