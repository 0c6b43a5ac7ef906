"""The one training loop of the package.

It sees an ``nn.Module`` that can compute its loss, and a source that answers row numbers with
batches. It never sees missing values, pandas or scikit-learn data.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from nanwise.errors import TrainingError
from nanwise.train.batches import Batches, every_nth, mix
from nanwise.train.checkpoint import Checkpoint, fingerprint
from nanwise.train.diagnose import first_fault
from nanwise.train.engine import make_fabric
from nanwise.train.optim import Schedule, load_optimizer, make_optimizer
from nanwise.train.plan import Plan

History = list[dict[str, Any]]

#: rows per validation block; without gradients memory is no concern, and large products are fast
VALIDATION_BLOCK = 4096


class Source(Protocol):
    """Rows by number."""

    def __len__(self) -> int:
        """Number of rows."""

    def __getitem__(self, index: Tensor) -> Any:
        """The batch of these rows: a tensor, or (named) tuples of tensors."""


class Trainable(Protocol):
    """What the loop asks of an ``nn.Module``."""

    def training_step(self, batch: Any, phase: str = "main") -> Tensor:
        """Mean loss of the batch."""

    def validation_step(self, batch: Any) -> tuple[Tensor, Tensor]:
        """Sum of the losses, and how many there are."""


def train(
    module: nn.Module,
    source: Source,
    plan: Plan,
    *,
    seed: int,
    validation: Source | None = None,
    device: str | torch.device | None = None,
    names: Sequence[Any] | None = None,
) -> History:
    """Train a module in place.

    Parameters
    ----------
    module : nn.Module
        A :class:`Trainable`. Comes back on the CPU, in eval mode, with the weights of the epoch
        with the smallest validation loss (without validation rows: of the last epoch).
    source : Source
        Training rows; with several processes all rows in every one of them.
    plan : Plan
        Settings. ``plan.validation`` is not used here: the caller splits.
    seed : int
        Order of the rows, dropout and whatever else is drawn while training. The global state of
        torch's generators is left as it was.
    validation : Source, optional
        Rows on which early stopping decides.
    device : {None, "cpu", "cuda", "cuda:<n>", "auto"}
        See :func:`nanwise.train.engine.make_fabric`.
    names : sequence, optional
        Names of the input columns, for error messages.

    Returns
    -------
    list of dict
        Per epoch ``epoch`` (from 1), ``train_loss``, ``valid_loss`` (None without validation rows),
        ``lr`` and ``seconds``.

    Raises
    ------
    TrainingError
        The loss is not finite any more; the message names the epoch and the first input column,
        parameter or layer at fault.
    """
    plan.validate()
    if len(source) == 0:
        raise ValueError("source has no rows to train on")
    if validation is not None and len(validation) == 0:
        validation = None
    fabric = make_fabric(device)
    devices = [fabric.device.index] if fabric.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        run = _Run(fabric, module, source, validation, plan, seed, names)
        try:
            return run.run()
        finally:
            run.release()


class _Run:
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
        self.optimizer = make_optimizer(plan, module.parameters())
        self.schedule = Schedule(plan, self.optimizer, self.batches.steps)
        # Fabric answers `training_step` with the bare method on one device and with a detour
        # through DDP's forward on several. Bound once: looking it up costs more than a small layer.
        wrapped, self.stepper = fabric.setup(module, self.optimizer)
        self.step = wrapped.training_step
        self.history: History = []
        self.best_loss, self.waited = math.inf, 0
        self.best: dict[str, Tensor] | None = None
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
        self._agree(0 if state is None else len(state["history"]), found)
        if state is not None:
            self._resume(state)
        return found

    def _agree(self, epochs: int, checkpoint: Checkpoint) -> None:
        """All processes go on from the same epoch, or none does."""
        if self.alone:
            return
        found = self.fabric.all_gather(torch.tensor(epochs)).tolist()
        if len(set(found)) > 1:
            raise TrainingError(
                f"the processes find different checkpoints (epochs {found}) at {checkpoint.path}; "
                "plan.checkpoint must be a folder that all of them share"
            )

    def _resume(self, state: dict[str, Any]) -> None:
        self.module.load_state_dict(state["weights"])
        load_optimizer(self.optimizer, state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        self.history = state["history"]
        self.best, self.best_loss, self.waited = (state[k] for k in ("best", "best_loss", "waited"))

    def _save(self) -> None:
        if self.checkpoint is None or len(self.history) % self.plan.checkpoint_every:
            return
        state = {
            "weights": dict(self.module.state_dict()),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "history": self.history,
            "best": self.best,
            "best_loss": self.best_loss,
            "waited": self.waited,
        }
        self._alone_on_disk(lambda: self.checkpoint.write(state))

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
        lr = self.optimizer.param_groups[0]["lr"]
        torch.manual_seed(mix(self.seed, epoch, self.fabric.global_rank))
        train_loss = self._train(epoch)
        valid_loss = None if self.validation is None else self._validate(epoch)
        self.schedule.epoch(train_loss if valid_loss is None else valid_loss)
        if valid_loss is not None:
            self._compare(valid_loss)
        self.history.append(
            {
                "epoch": epoch,
                "train_loss": train_loss,
                "valid_loss": valid_loss,
                "lr": lr,
                "seconds": time.perf_counter() - start,
            }
        )

    def _train(self, epoch: int) -> float:
        """One pass; the mean loss over all processes."""
        self.module.train()
        on_cpu = self.fabric.device.type == "cpu"
        # Looking at each loss is free on one CPU. A GPU would wait for it, and of several processes
        # one alone must not leave: these look at the sum after the pass, together.
        watch = self.alone and on_cpu
        total = torch.zeros((), dtype=torch.float64, device=self.fabric.device)
        for rows in self.batches.epoch(epoch):
            batch = self.source[rows]
            if not on_cpu:
                batch = self.fabric.to_device(batch)
            loss = self.step(batch)
            if watch and not math.isfinite(loss.item()):
                raise self._fault(epoch, batch)
            self._update(loss)
            total += loss.detach() * len(rows)
        mean = self._sum(total).item() / (self.batches.share * self.fabric.world_size)
        if not math.isfinite(mean):
            raise self._fault(epoch, batch)
        return mean

    def _update(self, loss: Tensor) -> None:
        self.stepper.zero_grad()
        self.fabric.backward(loss)
        if self.plan.clip is not None:
            nn.utils.clip_grad_norm_(self.module.parameters(), self.plan.clip)
        self.stepper.step()
        self.schedule.step()

    @torch.no_grad()
    def _validate(self, epoch: int) -> float:
        """Mean loss over the validation rows of all processes."""
        self.module.eval()
        total = torch.zeros(2, dtype=torch.float64, device=self.fabric.device)
        blocks = every_nth(
            len(self.validation), VALIDATION_BLOCK, self.fabric.global_rank, self.fabric.world_size
        )
        for rows in blocks:
            batch = self.fabric.to_device(self.validation[rows])
            losses, count = self.module.validation_step(batch)
            total += torch.stack((losses.double(), torch.as_tensor(count).double()))
        losses, count = self._sum(total).tolist()
        if count == 0:
            raise TrainingError("the validation rows hold nothing that is scored; use other rows")
        if not math.isfinite(losses):
            raise self._fault(epoch, self.validation[blocks[0]] if blocks else ())
        return losses / count

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
        return self.plan.patience is not None and self.waited >= self.plan.patience

    def _sum(self, value: Tensor) -> Tensor:
        return value if self.alone else self.fabric.all_reduce(value, reduce_op="sum")

    def _fault(self, epoch: int, batch: Any) -> TrainingError:
        fault = first_fault(self.module, batch, self.names)
        return TrainingError(
            f"the loss is not finite any more in epoch {epoch}: {fault}. "
            f"Check the input, or train with a smaller lr (now {self.plan.lr:g}) or with clip."
        )


def _show(bar: Any, record: dict[str, Any]) -> None:
    losses = {"train": record["train_loss"], "valid": record["valid_loss"]}
    bar.set_postfix({k: f"{v:.4g}" for k, v in losses.items() if v is not None}, refresh=False)
    bar.update()
