"""``--set NAME=VALUE``: read and checked before any row is."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from nanwise.cli.wording import settings

if TYPE_CHECKING:
    from nanwise.registry import Method

ANY_NETWORK = "zero"
#: how scikit-learn spells ``gaps.``
OWN = "gaps__"
#: kinds of methods that stand before a network, as its ``gaps``
GAPS = ("treatment", "imputer")


def method_settings(pairs: Iterable[str], method: str) -> dict[str, Any]:
    """Parameters for one method; a ValueError names what it does not know."""
    from nanwise.estimators.table_model import make_estimator
    from nanwise.registry import find

    found = find(method)
    params, own = _parted(settings(pairs))
    if found.kind in GAPS:
        network = make_estimator(method, found.tasks[0])
        params = _known(params, network.get_params(deep=False), "")
        own = _known_of(found, own)
    params |= {f"{OWN}{name}": value for name, value in own.items()}
    try:
        make_estimator(method, found.tasks[0], params)
    except TypeError as error:
        raise ValueError(f"--set: {method} does not take this: {error}") from error
    return params


def network_settings(pairs: Iterable[str]) -> dict[str, Any]:
    """Parameters for every network of a comparison."""
    params = settings(pairs)
    if "gaps" in params:
        raise ValueError("--set gaps: a comparison sets this itself, once for each treatment")
    return method_settings(pairs, ANY_NETWORK) if params else {}


def imputer_params(pairs: Iterable[str], method: str, device: str | None = None) -> dict[str, Any]:
    """Parameters for one imputer; a ValueError names what it does not know."""
    from nanwise.estimators.table_imputer import imputer_settings

    params, defaults = settings(pairs), imputer_settings(method)
    if device is not None:
        if "device" not in defaults:
            raise ValueError(f"--device: {method} trains no network, there is nothing to move")
        params["device"] = device
    return _imputer_own(params, method, "")


def _parted(tree: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is set for the network, and as ``gaps.NAME`` for what stands before it."""
    own = tree.pop("gaps", {})
    if not isinstance(own, dict):
        raise ValueError("--set gaps: choose the treatment with --method, set its own as gaps.NAME")
    return tree, own


def _known_of(found: Method, own: dict[str, Any]) -> dict[str, Any]:
    if found.kind == "imputer":
        return _imputer_own(own, found.name, "gaps.")
    return _known(own, found.make().get_params(), "gaps.")


def _imputer_own(params: dict[str, Any], method: str, prefix: str) -> dict[str, Any]:
    from nanwise.estimators.table_imputer import imputer_of, imputer_settings

    params = _known(params, imputer_settings(method), prefix)
    imputer_of(method, params)
    return params


def _known(params: dict[str, Any], defaults: dict[str, Any], prefix: str) -> dict[str, Any]:
    """The parameters, if there are such, in the form of the defaults."""
    _refuse_unknown(params, defaults, prefix)
    if "plan" in params:
        _check_plan(params["plan"], f"{prefix}plan")
    return {name: _like(value, defaults[name]) for name, value in params.items()}


def _check_plan(plan: Any, spelt: str) -> None:
    from nanwise.train.plan import Plan

    if not isinstance(plan, dict):
        raise ValueError(
            f"--set {spelt}: set its parts, for example {spelt}.epochs=50; got {plan!r}"
        )
    _refuse_unknown(plan, Plan().get_params(), f"{spelt}.")
    try:
        Plan(**plan).validate()
    except TypeError as error:
        raise ValueError(str(error)) from error


def _refuse_unknown(given: Iterable[str], known: Collection[str], prefix: str) -> None:
    there = f"there are: {', '.join(known)}" if known else "there are none to set here"
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=3)
            hint = f"did you mean {' or '.join(map(repr, near))}? {there}" if near else there
            raise ValueError(f"--set {prefix}{name}: no such parameter; {hint}")


def _like(value: Any, default: Any) -> Any:
    """A single number where a tuple is expected is a tuple of one: ``hidden=128``."""
    if isinstance(default, tuple) and not isinstance(value, (list, tuple)):
        return (value,)
    return value
