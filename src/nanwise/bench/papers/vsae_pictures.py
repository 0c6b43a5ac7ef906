"""Pictures of what a VSAE fills and makes, as facts for a report: sheets of small tiles.

A sheet has lines of equal length; a line has ``tiles`` (each ``data``, the bytes of a picture in
base64) or ``texts`` (labels), and a name.
"""

from __future__ import annotations

import base64
import copy
from typing import Any

import numpy as np

from nanwise.bench.papers.vsae_data import Attribute, Rows

#: random imputations that are shown
DRAWS = 4
_SEED = 0

Sheet = dict[str, Any]


def pictures_of(
    imputer: Any, rows: Rows, filled: np.ndarray, held: np.ndarray, n: int
) -> list[Sheet]:
    """Sheets for every modality that is missing beside an observed one, and of new rows.

    Parameters
    ----------
    imputer : VSAEImputer
        Fitted.
    rows : Rows
    filled : ndarray of shape (N, D)
        Its answers for the test rows.
    held : ndarray of bool, shape (N, D)
    n : int
        Rows to show on each sheet.
    """
    if not any(len(attribute.shape) > 1 for attribute in rows.attributes):
        return []
    truth = rows.values[rows.test]
    seen = _Decoded(imputer)
    sheets = [
        _filled_sheet(seen, rows.attributes, gap, truth, filled, held, n) for gap in rows.attributes
    ]
    return [sheet for sheet in sheets if sheet] + [_new_sheet(seen, rows.attributes, n)]


def _filled_sheet(
    seen: _Decoded,
    attributes: tuple[Attribute, ...],
    gap: Attribute,
    truth: np.ndarray,
    filled: np.ndarray,
    held: np.ndarray,
    n: int,
) -> Sheet | None:
    """Rows that miss one attribute and no other."""
    gone = np.stack([held[:, a.columns.start] for a in attributes], axis=1)
    own = np.array([a is gap for a in attributes])
    shown = np.flatnonzero((gone == own).all(axis=1))[:n]
    if not len(shown):
        return None
    draws = seen.draws(np.where(held, np.nan, truth)[shown], DRAWS)
    lines = [_line(f"observed: {a.name}", a, truth[shown]) for a in attributes if a is not gap]
    lines += [_line(f"truth: {gap.name}", gap, truth[shown])]
    lines += [_line("imputation", gap, filled[shown])]
    lines += [_line(f"draw {k + 1}", gap, draw) for k, draw in enumerate(draws)]
    return {
        "title": f"{gap.name} is missing",
        "caption": "One test row in each column. The imputation is the expected value; a draw is "
        "what is decoded from random latents, without the noise around it.",
        "lines": lines,
    }


def _new_sheet(seen: _Decoded, attributes: tuple[Attribute, ...], n: int) -> Sheet:
    new = seen.new(n)
    return {
        "title": "Generated rows",
        "caption": "One new row in each column, decoded from latents of the prior: what stands "
        "together should belong together.",
        "lines": [_line(attribute.name, attribute, new) for attribute in attributes],
    }


def _line(name: str, attribute: Attribute, values: np.ndarray) -> dict[str, Any]:
    cells = values[:, attribute.columns]
    if not attribute.shape:
        return {"name": name, "texts": [str(int(cell)) for cell in cells[:, 0]]}
    grey = np.clip(np.rint(cells * 255), 0, 255).astype(np.uint8)
    tiles = [base64.b64encode(picture.tobytes()).decode("ascii") for picture in grey]
    return {"name": name, "shape": list(attribute.shape), "tiles": tiles}


class _Decoded:
    """Values decoded from random latents of a fitted VSAE: expected ones, without their noise."""

    def __init__(self, imputer: Any) -> None:
        import torch

        self.layout, self.features = imputer.table_layout_, imputer.features_
        self.seen = imputer.seen_
        self.net = copy.deepcopy(imputer.net_).double().eval()
        self.generator = torch.Generator().manual_seed(_SEED)

    def draws(self, values: np.ndarray, n: int) -> np.ndarray:
        """(n, N, D), each from latents that the network proposes for the row."""
        import torch

        levels = self.layout.encode(values)[:, self.seen]
        features, observed = map(torch.as_tensor, self.features.encode(levels))
        with torch.inference_mode():
            z, *_ = self.net.latents(features, observed, n, self.generator)
            _, raws = self.net.decoders(z, observed)
            found = self.net.decoders.mean(raws).numpy()
        return np.stack([self._values(one) for one in found])

    def new(self, n: int) -> np.ndarray:
        """(n, D) from latents of the prior, under patterns without gaps."""
        import torch

        size = (n, self.net.proposal.n_latents)
        z = torch.randn(size, generator=self.generator, dtype=torch.float64)
        observed = torch.ones(n, len(self.features.parts_), dtype=torch.bool)
        with torch.inference_mode():
            _, raws = self.net.decoders(z, observed)
            found = self.net.decoders.mean(raws).numpy()
        return self._values(found)

    def _values(self, features: np.ndarray) -> np.ndarray:
        codes = np.zeros((len(features), len(self.seen)))
        codes[:, self.seen] = self.features.decode(features)
        return self.layout.decode(codes)
