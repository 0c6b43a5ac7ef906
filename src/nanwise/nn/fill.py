"""The simple ways to close gaps, as layers: each leaves no NaN and treats a row by itself."""

from __future__ import annotations

import math
from typing import Any, Literal

import torch
from torch import Tensor, nn

from nanwise.missing import Observed
from nanwise.nn.gaps import check_floating, split
from nanwise.nn.sparse import Rows


class _Fill(nn.Module):
    """A layer that closes gaps; ``n_features`` is only remembered, for ``out_features``."""

    out_features: int | None

    def __init__(self, n_features: int | None = None) -> None:
        super().__init__()
        self.out_features = n_features

    def extra_repr(self) -> str:
        """Width, for ``repr``."""
        return f"out_features={self.out_features}"


class Zero(_Fill):
    """A gap becomes 0.

    Parameters
    ----------
    n_features : int, optional
        Number of features, for ``out_features``.
    """

    def forward(self, x: Tensor | Observed | Rows, observed: Tensor | None = None) -> Any:
        """Values with 0 in gaps; Rows, whose absent cells count as 0 anyway, as they are."""
        return x if isinstance(x, Rows) else split(x, observed)[0]


class Plain(_Fill):
    """Values as they are: for rows that were completed beforehand, so the mask is not looked at.

    Parameters
    ----------
    n_features : int, optional
        Number of features, for ``out_features``.
    """

    def forward(self, x: Tensor | Observed, observed: Tensor | None = None) -> Tensor:
        """``x`` itself."""
        values = x.values if isinstance(x, Observed) else x
        check_floating(values)
        return values


class Rate(_Fill):
    """A gap becomes 0, a value is divided by the global share of observed cells.

    What dropout does, with one rate for all rows: the mean size is kept, but rows in which more was
    observed stay larger than others.

    Parameters
    ----------
    rate : float
        Share of cells observed in training, above 0 and at most 1.
    n_features : int, optional
        Number of features, for ``out_features``.
    """

    rate: Tensor

    def __init__(self, rate: float, n_features: int | None = None) -> None:
        super().__init__(n_features)
        if not (math.isfinite(rate) and 0 < rate <= 1):
            raise ValueError(f"rate must be above 0 and at most 1, got {rate!r}")
        self.register_buffer("rate", torch.tensor(float(rate)))

    def forward(self, x: Tensor | Observed | Rows, observed: Tensor | None = None) -> Any:
        """Scaled values with 0 in gaps; Rows give Rows."""
        if isinstance(x, Rows):
            return x._replace(values=x.values / self.rate)
        return split(x, observed)[0] / self.rate

    def extra_repr(self) -> str:
        """Arguments, for ``repr``."""
        return f"rate={float(self.rate):g}, {super().extra_repr()}"


class Constant(_Fill):
    """A gap becomes its column's constant, for example the mean.

    Parameters
    ----------
    fill : array-like, shape (D,)
        One finite number per feature.

    Attributes
    ----------
    fill : Tensor, shape (D,)
        The same; part of the ``state_dict``.
    """

    fill: Tensor

    def __init__(self, fill: Any) -> None:
        numbers = torch.as_tensor(fill, dtype=torch.get_default_dtype()).clone()
        if numbers.ndim != 1 or not numbers.isfinite().all():
            raise ValueError(
                f"fill must hold one finite number per feature, got shape {tuple(numbers.shape)} "
                f"with {int((~numbers.isfinite()).sum())} non-finite numbers"
            )
        super().__init__(numbers.shape[0])
        self.register_buffer("fill", numbers)

    def forward(self, x: Tensor | Observed, observed: Tensor | None = None) -> Tensor:
        """Completed values, in the shape of ``x``."""
        values, present = split(x, observed)
        return values + (1 - present) * self.fill


class Indicator(nn.Module):
    """A gap becomes 0, and the mask is put behind the values.

    Parameters
    ----------
    kind : {"missing", "observed"}, default="missing"
        What a 1 in the second half says.
    n_features : int, optional
        Number of features D, for ``out_features`` = 2 D.
    """

    def __init__(
        self, kind: Literal["missing", "observed"] = "missing", n_features: int | None = None
    ) -> None:
        super().__init__()
        if kind not in ("missing", "observed"):
            raise ValueError(f'kind must be "missing" or "observed", got {kind!r}')
        self.kind = kind
        self.out_features = None if n_features is None else 2 * n_features

    def forward(self, x: Tensor | Observed, observed: Tensor | None = None) -> Tensor:
        """Shape (..., 2 D)."""
        values, present = split(x, observed)
        return torch.cat([values, 1 - present if self.kind == "missing" else present], dim=-1)

    def extra_repr(self) -> str:
        """Arguments, for ``repr``."""
        return f"kind={self.kind!r}, out_features={self.out_features}"
