"""``--set NAME=VALUE``: read and checked before any row is."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from nanwise.cli.wording import nearest, settings

ANY_NETWORK = "zero"
OWN = "gaps__"


def method_settings(pairs: Iterable[str], method: str) -> dict[str, Any]:
    """Parameters for one method; a ValueError names what it does not know."""
    from nanwise.estimators.table_model import make_estimator
    from nanwise.registry import find

    found = find(method)
    params = _flat(settings(pairs))
    if found.kind == "treatment":
        own = [name.removeprefix(OWN) for name in params if name.startswith(OWN)]
        _refuse_unknown(own, found.make().get_params(), "gaps.")
        params = _for_network(params, make_estimator(method, found.tasks[0]))
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
    from nanwise.estimators.table_imputer import imputer_of, imputer_settings

    params, defaults = settings(pairs), imputer_settings(method)
    if device is not None:
        if "device" not in defaults:
            raise ValueError(f"--device: {method} trains no network, there is nothing to move")
        params["device"] = device
    _refuse_unknown(params, defaults, "")
    if "plan" in params:
        _check_plan(params["plan"])
    params = {name: _like(value, defaults[name]) for name, value in params.items()}
    imputer_of(method, params)
    return params


def _flat(tree: dict[str, Any]) -> dict[str, Any]:
    """``gaps.power=1`` reaches the treatment, which scikit-learn spells ``gaps__power``."""
    own = tree.pop("gaps", {})
    if not isinstance(own, dict):
        raise ValueError("--set gaps: choose the treatment with --method, set its own as gaps.NAME")
    return tree | {f"{OWN}{name}": value for name, value in own.items()}


def _for_network(params: dict[str, Any], network: Any) -> dict[str, Any]:
    defaults = network.get_params(deep=False)
    _refuse_unknown((name for name in params if not name.startswith(OWN)), defaults, "")
    if "plan" in params:
        _check_plan(params["plan"])
    return {name: _like(value, defaults.get(name)) for name, value in params.items()}


def _check_plan(plan: Any) -> None:
    from nanwise.train.plan import Plan

    if not isinstance(plan, dict):
        raise ValueError(f"--set plan: set its parts, for example plan.epochs=50; got {plan!r}")
    _refuse_unknown(plan, Plan().get_params(), "plan.")
    try:
        Plan(**plan).validate()
    except TypeError as error:
        raise ValueError(str(error)) from error


def _refuse_unknown(given: Iterable[str], known: Collection[str], prefix: str) -> None:
    for name in given:
        if name not in known:
            hint = nearest(name, known, most=20) if known else "there are none to set here"
            raise ValueError(f"--set {prefix}{name}: no such parameter; {hint}")


def _like(value: Any, default: Any) -> Any:
    """A single number where a tuple is expected is a tuple of one: ``hidden=128``."""
    if isinstance(default, tuple) and not isinstance(value, (list, tuple)):
        return (value,)
    return value
