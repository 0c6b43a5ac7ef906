"""How a network is trained: one object, so that a grid search reaches ``plan__lr``."""

from __future__ import annotations

import os
from typing import Any

from sklearn.base import BaseEstimator

from nanwise.train.checks import number, one_of, whole

OPTIMIZERS = ("adam", "adamw", "sgd", "rmsprop", "rprop")
SCHEDULES = (None, "cosine", "plateau", "onecycle", "steps")
PRECISIONS = ("float32", "float64")
MONITORS = ("loss", "auroc")


class Plan(BaseEstimator):
    """Training settings, shared by all estimators.

    Parameters
    ----------
    epochs : int, default=40
        Number of passes over the training rows; the largest number if training may stop early.
    batch : int or None, default=128
        Rows per step, over all processes together. None takes all rows in one step.
    lr : float, default=1e-3
        Learning rate; with a schedule, its largest value.
    optimizer : {"adamw", "adam", "sgd", "rmsprop", "rprop"}, default="adamw"
        ``sgd`` runs with Nesterov momentum 0.9. ``rprop`` goes by the signs of the gradient alone
        and is meant for ``batch=None``; ``lr`` is its first step.
    weight_decay : float or None, default=0.1
        Added to the gradient; decoupled from it for ``adamw``. None: what the estimator finds right
        for the rows at hand, 0 for most.
    schedule : {None, "cosine", "plateau", "onecycle", "steps"}, default="cosine"
        ``cosine`` falls to 0 over all epochs, ``plateau`` halves the rate whenever the validation
        loss (without validation: the training loss) has not improved for ``patience // 2`` epochs,
        at least 1 (5 if ``patience`` is None), ``onecycle`` rises and falls, step by step,
        ``steps`` falls to a tenth after 45 % of the epochs and to a hundredth after 90 %.
    validation : float or None, default=None
        Share of the rows put aside for validation, which makes early stopping possible; None or 0:
        none, all rows are learnt from.
    patience : int or None, default=20
        Stop after that many epochs without a better validation loss; None: never stop early.
        The best weights are restored either way. Without validation rows the last weights count.
    clip : float or None, default=None
        Largest norm of the gradient of all parameters together.
    precision : {"float32", "float64"}, default="float32"
        Numbers to train with. ``float64`` takes about twice as long.
    checkpoint : path-like or None, default=None
        Folder for checkpoints. A run that was killed and is started again with the same folder goes
        on where it was and ends with the same weights. See :mod:`nanwise.train.checkpoint`.
    checkpoint_every : int, default=10
        Epochs between checkpoints.
    progress : bool, default=False
        Whether to show a progress bar.
    eps : float, default=1e-8
        Added to the root mean square that ``adam``, ``adamw`` and ``rmsprop`` divide gradients by:
        weights whose gradients are mostly smaller learn more slowly than the others. ``sgd`` does
        not use it.
    beta2 : float, default=0.999
        Share of the mean square of the gradients that ``adam`` and ``adamw`` keep from step to
        step. Without noise of batches (``batch=None``) 0.9 forgets the steep beginning soon and
        needs fewer steps.
    beta1 : float, default=0.9
        Share of the mean of the gradients that they keep. Networks that play against each other
        are often trained with less, 0 to 0.5.
    monitor : {"loss", "auroc"}, default="loss"
        What early stopping and ``schedule="plateau"`` look at on the validation rows. ``auroc``,
        the area under the ROC curve (of several classes: the mean over each against the rest), is
        for the classifiers of series and needs validation rows.
    tol : float or None, default=None
        Stop after the first epoch whose training loss differs by no more than this from that of the
        epoch before; None: never. Needs no validation rows. With several steps per epoch two losses
        may come close by chance.

    Notes
    -----
    The defaults learn from all rows over a fixed, falling schedule. On tables of some hundred rows
    a validation part is so small that stopping on it is mostly chance (``benchmarks/RESULTS.md``).
    Large tables with much to learn may want ``epochs=200, validation=0.1``, which stops by itself.
    """

    def __init__(
        self,
        epochs: int = 40,
        batch: int | None = 128,
        lr: float = 1e-3,
        optimizer: str = "adamw",
        weight_decay: float | None = 0.1,
        schedule: str | None = "cosine",
        validation: float | None = None,
        patience: int | None = 20,
        clip: float | None = None,
        precision: str = "float32",
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 10,
        progress: bool = False,
        eps: float = 1e-8,
        beta2: float = 0.999,
        beta1: float = 0.9,
        monitor: str = "loss",
        tol: float | None = None,
    ) -> None:
        self.epochs = epochs
        self.batch = batch
        self.lr = lr
        self.optimizer = optimizer
        self.weight_decay = weight_decay
        self.schedule = schedule
        self.validation = validation
        self.patience = patience
        self.clip = clip
        self.precision = precision
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.progress = progress
        self.eps = eps
        self.beta2 = beta2
        self.beta1 = beta1
        self.monitor = monitor
        self.tol = tol

    def validate(self) -> None:
        """Raise a ValueError or TypeError that names the first setting that cannot be used."""
        whole("plan.epochs", self.epochs)
        whole("plan.batch", self.batch, optional=True)
        number("plan.lr", self.lr, above=0.0)
        one_of("plan.optimizer", self.optimizer, OPTIMIZERS)
        number("plan.weight_decay", self.weight_decay, least=0.0, optional=True)
        one_of("plan.schedule", self.schedule, SCHEDULES)
        number("plan.validation", self.validation, least=0.0, below=1.0, optional=True)
        whole("plan.patience", self.patience, optional=True)
        number("plan.clip", self.clip, above=0.0, optional=True)
        number("plan.eps", self.eps, above=0.0)
        number("plan.beta2", self.beta2, least=0.0, below=1.0)
        number("plan.beta1", self.beta1, least=0.0, below=1.0)
        one_of("plan.precision", self.precision, PRECISIONS)
        one_of("plan.monitor", self.monitor, MONITORS)
        number("plan.tol", self.tol, least=0.0, optional=True)
        whole("plan.checkpoint_every", self.checkpoint_every)
        if self.checkpoint is not None and not isinstance(self.checkpoint, (str, os.PathLike)):
            raise TypeError(
                f"plan.checkpoint must be the path of a folder or None, got {self.checkpoint!r}"
            )

    def __nanwise_state__(self) -> dict[str, Any]:
        # folder and progress bar belong to the run that trained, not to the model
        return self.get_params(deep=False) | {"checkpoint": None, "progress": False}

    @classmethod
    def __from_nanwise_state__(cls, state: dict[str, Any]) -> Plan:
        return cls(**state | {"checkpoint": None})
