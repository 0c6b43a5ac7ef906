"""What early stopping may look at beside the loss: how well the classes are told apart."""

from __future__ import annotations

import torch
from torch import Tensor

from nanwise.errors import TrainingError


class Ranking:
    """Outputs and classes of the validation rows, gathered block by block."""

    def __init__(self) -> None:
        self.parts: list[tuple[Tensor, Tensor]] = []

    def add(self, output: Tensor, target: Tensor) -> None:
        """One block: outputs (N, 1) for two classes or (N, C), class numbers (N,)."""
        self.parts.append((output.detach().double().cpu(), target.cpu()))

    def auroc(self, alone: bool) -> float:
        """Area under the ROC curve over the rows of all processes; ``alone``: there is one."""
        parts = self.parts if alone else _of_all(self.parts)
        output, target = (torch.cat(same) for same in zip(*parts, strict=True))
        areas = [auroc(score, target == label) for label, score in _columns(output)]
        known = [area for area in areas if area is not None]
        if not known:
            raise TrainingError(
                "plan.monitor is 'auroc', but the validation rows are all of one class; validate "
                "on more rows (plan.validation), or use monitor='loss'"
            )
        return sum(known) / len(known)


def auroc(score: Tensor, positive: Tensor) -> float | None:
    """Share of pairs (positive, negative) in the right order, ties by half.

    Parameters
    ----------
    score : Tensor, shape (N,)
    positive : Tensor of bool, shape (N,)

    Returns
    -------
    float or None
        None where one of the two classes does not occur.
    """
    n = int(positive.sum())
    pairs = n * (len(positive) - n)
    if not pairs:
        return None
    _, place, count = torch.unique(score, return_inverse=True, return_counts=True)
    rank = count.cumsum(0) - (count - 1) / 2  # equal scores share the mean of their ranks
    return (float(rank[place][positive].sum()) - n * (n + 1) / 2) / pairs


def _columns(output: Tensor) -> list[tuple[int, Tensor]]:
    """Scores by class: of two the second, of more each against the rest."""
    if output.shape[1] == 1:
        return [(1, output[:, 0])]
    return list(enumerate(output.softmax(dim=1).unbind(1)))


def _of_all(parts: list[tuple[Tensor, Tensor]]) -> list[tuple[Tensor, Tensor]]:
    """Blocks of all processes, whose numbers of rows may differ."""
    found: list[list[tuple[Tensor, Tensor]]] = [[]] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(found, parts)
    return [part for own in found for part in own]
