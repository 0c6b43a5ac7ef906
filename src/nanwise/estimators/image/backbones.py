"""The rule for what ``backbone=`` may be."""

from __future__ import annotations

import copy
from typing import Any


def check_backbone(backbone: Any) -> None:
    """ValueError for a backbone that is neither a known name, nor a module, nor a callable."""
    from nanwise.nets.image.backbone import BACKBONES

    if backbone is None or callable(backbone):  # a module is a callable, too
        return
    if not isinstance(backbone, str) or backbone not in BACKBONES:
        raise ValueError(
            f"backbone must be one of {', '.join(BACKBONES)}, a torch module or a callable, "
            f"got {backbone!r}"
        )


def make_backbone(backbone: Any, width: int, n_classes: int, size: tuple[int, int]) -> Any:
    """A fresh module from maps (N, width, \\*size) to (N, n_classes)."""
    from torch import nn

    from nanwise.nets.image.backbone import BACKBONES, Backbone

    if backbone is None or isinstance(backbone, str):
        return Backbone(width, n_classes, size, **BACKBONES[backbone or "small"])
    given = isinstance(backbone, nn.Module)
    body = copy.deepcopy(backbone) if given else backbone(width, n_classes)
    _try(body, (width, *size), n_classes)
    return body


def _try(body: Any, shape: tuple[int, ...], n_classes: int) -> None:
    """Ask a module of the user's own about two empty maps; lazy layers learn their sizes here."""
    import torch

    was = body.training
    try:
        with torch.no_grad():
            out = body.eval()(torch.zeros(2, *shape))
    except (RuntimeError, ValueError, TypeError) as error:
        raise ValueError(
            f"backbone cannot take maps of shape (N, {', '.join(map(str, shape))}), which is what "
            f"the first layer gives: {error}"
        ) from error
    finally:
        body.train(was)
    if tuple(getattr(out, "shape", ())) != (2, n_classes):
        raise ValueError(
            f"backbone must give (N, {n_classes}), one number per class; for 2 pictures it gave "
            f"{tuple(getattr(out, 'shape', ())) or type(out).__name__}"
        )
