"""What is typed after ``nanwise images``: read and checked before any work."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nanwise.data.images import Pictures


def read(source: str, size: Any, *, labels: str | None, channels: int | None = None) -> Pictures:
    """Pictures of a folder or file; messages name options."""
    from nanwise.data.images import read_images

    wanted = _pixels(size) if isinstance(size, str) else size
    try:
        return read_images(source, labels=labels, size=wanted, channels=channels)
    except ValueError as error:
        # the message speaks to callers of the function
        raise ValueError(_in_options(str(error))) from error


def _in_options(text: str) -> str:
    return re.sub(r"size=\((\d+), (\d+)\)", r"--size \1x\2", text)


def _pixels(text: str) -> tuple[int, int]:
    parts = text.lower().split("x")
    if len(parts) > 2 or not all(part.isdecimal() and int(part) for part in parts):
        raise ValueError(f"--size takes a number of pixels or HEIGHTxWIDTH; got {text!r}")
    return int(parts[0]), int(parts[-1])


def hidden(text: str | None) -> tuple[str, float | None] | None:
    """``KIND[:SHARE]`` as kind and share."""
    if text is None:
        return None
    from nanwise.cli.wording import nearest
    from nanwise.data.images.masks import KINDS

    kind, _, share = text.partition(":")
    if kind not in KINDS:
        raise ValueError(f"--hide {text}: no such kind of hole; {nearest(kind, KINDS)}")
    try:
        number = float(share) if share else None
    except ValueError:
        number = -1.0
    if number is not None and not 0 < number < 1:
        raise ValueError(f"--hide {text}: the share must be above 0 and below 1, as in {kind}:0.5")
    return kind, number


def cut(pictures: Pictures, hide: Any, seed: int) -> tuple[Any, Any]:
    """Pictures with holes, and what they were before if holes are cut now."""
    from nanwise.cli.trouble import warn
    from nanwise.data.images import hide_pixels

    if hide is None:
        if pictures.observed.all():
            warn("no picture has a hole: nothing is missing; --hide square cuts some")
        return pictures.X, None
    kind, share = hide
    return hide_pixels(pictures.X, kind, seed, share=share), pictures.X


def labels_of(pictures: Pictures, source: str) -> Any:
    """Classes of the pictures, or an error that says how to give them."""
    if pictures.labels is not None:
        return pictures.labels
    if pictures.root.is_dir():
        raise ValueError(
            f"{source} has pictures outside of folders, so their classes are not known; put them "
            "into one folder per class, or give --labels CSV"
        )
    raise ValueError(f"{source} has no labels; save them as the array y")


def check_gaps(gaps: list[str] | None) -> None:
    """Refuse treatments that there are not."""
    from nanwise.estimators.image.choice import resolve

    for name in gaps or ():
        resolve(name)


def classifier_params(given: dict[str, Any]) -> dict[str, Any]:
    """Parameters of every classifier of a comparison."""
    from nanwise.estimators.image.classifier import NanImageClassifier

    return params_of(given, NanImageClassifier(), taken=("gaps",))


def density_params(given: dict[str, Any]) -> dict[str, Any]:
    """Parameters of the density that treatments share."""
    epochs = given["density_epochs"]
    return {
        **({"plan__epochs": epochs} if epochs else {}),
        **({"device": given["device"]} if given["device"] else {}),
    }


def params_of(given: dict[str, Any], estimator: Any, taken: tuple[str, ...] = ()) -> dict[str, Any]:
    """``--set``, ``--epochs`` and ``--device`` as parameters, checked on the estimator."""
    from nanwise.cli.wording import nearest, settings

    tree = settings(given["pairs"])
    own = [n for n in estimator.get_params(deep=False) if n not in (*taken, "random_state")]
    params: dict[str, Any] = {}
    for name, value in tree.items():
        if name not in own:
            raise ValueError(f"--set {name}: no such parameter; {nearest(name, own)}")
        inner = value if isinstance(value, dict) else None
        params |= {f"{name}__{k}": v for k, v in inner.items()} if inner else {name: value}
    for option, name in (("epochs", "plan"), ("device", "device")):
        if given[option] and name not in own:
            raise ValueError(f"--{option}: {type(estimator).__name__} has no use for it")
    if given["epochs"]:
        params["plan__epochs"] = given["epochs"]
    if given["device"]:
        params["device"] = given["device"]
    _try(estimator, params)
    return params


def _try(estimator: Any, params: dict[str, Any]) -> None:
    from sklearn.base import clone

    try:
        tried = clone(estimator).set_params(**params)
        tried._check_settings()
    except TypeError as error:
        raise ValueError(f"--set: {error}") from error


def open_imputer(path: str) -> Any:
    """The imputer in a saved model: itself, or what a classifier carries."""
    from nanwise.bench.images import density_in
    from nanwise.cli.models import open_saved

    model = open_saved(path)
    found = model if hasattr(model, "shape_") and hasattr(model, "sample") else density_in([model])
    if found is None:
        raise ValueError(
            f"{path} holds a {type(model).__name__} that cannot fill pictures; learn one with "
            "nanwise images fit"
        )
    return found
