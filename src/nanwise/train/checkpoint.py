"""Checkpoints: one file per run, written whole or not at all, without pickle.

The name of the file is a fingerprint of everything that decides the result: settings, seed, first
weights, training and validation rows, number of processes. So one folder serves any number of runs
(folds, grid cells) side by side, and a run only ever finds its own checkpoint; one left behind by
other data or another plan is ignored. A finished run removes its file.

Whatever is random in an epoch is drawn from (seed, epoch), so a checkpoint holds no generator state
and a resumed run repeats the lost epochs exactly.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from nanwise.errors import ModelFileError
from nanwise.saving import decode, encode
from nanwise.train.diagnose import tensors

if TYPE_CHECKING:
    from nanwise.train.loop import Source
    from nanwise.train.plan import Plan

FORMAT = "nanwise checkpoint 2"
#: settings that do not change the result
_FREE = ("checkpoint", "checkpoint_every", "progress")
_BLOCK = 8192


def fingerprint(
    module: nn.Module,
    plan: Plan,
    seed: int,
    sources: tuple[Source | None, ...],
    world: int,
) -> str:
    """A short name for one run; every row is read, so that no change goes unseen.

    What decides the result and stands neither in the plan nor in the weights, such as a switch of
    the module, goes into its attribute ``settings``, if it has one.
    """
    digest = hashlib.sha256()
    settings = {k: v for k, v in plan.get_params().items() if k not in _FREE}
    own = getattr(module, "settings", None)
    digest.update(repr((FORMAT, sorted(settings.items()), own, seed, world)).encode())
    for name, value in module.state_dict().items():
        _add(digest, name, value)
    # Sources that draw must draw the same for every name, or no run would find its file again.
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        _add_rows(digest, sources)
    return digest.hexdigest()[:32]


def _add_rows(digest: Any, sources: tuple[Source | None, ...]) -> None:
    for source in sources:
        for rows in torch.arange(len(source) if source is not None else 0).split(_BLOCK):
            for part in tensors(source[rows] if source is not None and len(rows) else ()):
                _add(digest, "rows", part)
        digest.update(b"|")


def _add(digest: Any, name: str, value: torch.Tensor) -> None:
    digest.update(f"{name}{tuple(value.shape)}{value.dtype}".encode())
    # bytes of any kind of number, bfloat16 included, without a copy
    digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())


class Checkpoint:
    """The file of one run in ``folder``."""

    def __init__(self, folder: str | os.PathLike[str], name: str) -> None:
        self.path = Path(folder) / f"{name}.safetensors"

    def write(self, state: dict[str, Any]) -> None:
        """Replace the file in one step; a kill at any moment leaves the old one or the new one."""
        from safetensors.numpy import save

        plain, arrays = encode(state)
        text = json.dumps({"format": FORMAT, "state": plain}, allow_nan=False)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        made = self.path.with_suffix(f".{os.getpid()}.tmp")
        try:
            with open(made, "wb") as file:
                file.write(save(arrays, metadata={"nanwise": text}))
                file.flush()
                os.fsync(file.fileno())
            os.replace(made, self.path)
        finally:
            made.unlink(missing_ok=True)

    def read(self) -> dict[str, Any] | None:
        """The last state written, or None."""
        from safetensors import SafetensorError, safe_open

        if not self.path.exists():
            return None
        try:
            with safe_open(self.path, framework="numpy") as file:
                meta = json.loads((file.metadata() or {}).get("nanwise", "{}"))
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (SafetensorError, ValueError) as error:
            raise ModelFileError(self._damaged(error)) from error
        if not isinstance(meta, dict) or meta.get("format") != FORMAT:
            raise ModelFileError(self._damaged("it was not written by this version of nanwise"))
        return decode(meta["state"], arrays)

    def remove(self) -> None:
        """Forget the run."""
        self.path.unlink(missing_ok=True)

    def _damaged(self, why: object) -> str:
        return (
            f"checkpoint {self.path} cannot be read: {why}. Delete it to start from the beginning."
        )
