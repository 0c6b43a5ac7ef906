"""The one training loop of the package.

It sees an ``nn.Module`` that can compute its loss, and a source that answers row numbers with
batches. It never sees missing values, pandas or scikit-learn data. The work is in
:mod:`nanwise.train.run`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from nanwise.train.engine import make_fabric
from nanwise.train.plan import Plan
from nanwise.train.run import History, Run


class Source(Protocol):
    """Rows by number.

    One whose rows are large may have ``block``, the number of rows that are validated at once.
    """

    def __len__(self) -> int:
        """Number of rows."""

    def __getitem__(self, index: Tensor) -> Any:
        """The batch of these rows: a tensor, or (named) tuples of tensors."""


class Trainable(Protocol):
    """What the loop asks of an ``nn.Module``.

    One whose loss changes as training goes on may have ``begin_epoch(epoch, epochs)``: called
    before every epoch (from 1) of at most ``epochs``, also after a restart from a checkpoint.
    One that may be trained with ``plan.monitor="auroc"`` has ``scored_step(batch)``: what
    ``validation_step`` gives, then the outputs (N, 1) or (N, C) and the class numbers (N,).
    """

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
        that validation finds best by ``plan.monitor`` (without validation rows: of the last epoch).
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
        ``lr`` and ``seconds``; with ``plan.monitor="auroc"`` and validation rows also
        ``valid_auroc``; with several players also ``losses``, the mean loss of each that
        played, and ``train_loss`` is the last of these.

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
    if plan.monitor != "loss":
        _check_monitor(module, plan.monitor, validation)
    fabric = make_fabric(device)
    devices = [fabric.device.index] if fabric.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        run = Run(fabric, module, source, validation, plan, seed, names)
        try:
            return run.run()
        finally:
            run.release()


def _check_monitor(module: nn.Module, monitor: str, validation: Source | None) -> None:
    """Refuse to watch what nobody could see."""
    if not hasattr(module, "scored_step"):
        raise ValueError(
            f"plan.monitor={monitor!r} is not for {type(module).__name__}, which gives no "
            "scores of classes; use monitor='loss'"
        )
    if validation is None:
        raise ValueError(
            f"plan.monitor={monitor!r} looks at validation rows, and there are none: set "
            "plan.validation to a share of the rows (too few rows are not split), pass validation "
            "rows to fit where it takes them, or use monitor='loss'"
        )
