"""SoftImpute: nuclear-norm matrix completion, and its answer for rows it has not seen.

For data X with observed cells O the completion M minimises

    1/2 sum_{(i,j) in O} (x_ij - m_ij)^2 + tau ||M||_*                                     (1)

by repeating ``M <- S_tau(X on O, M elsewhere)``, where ``S_tau`` lowers every singular value by tau
and drops those that fall below 0 (Mazumder, Hastie and Tibshirani, JMLR 2010).

**One step without an SVD.** With ``Z = U diag(s) V'``, ``S_tau(Z) = Z V diag((s - tau)+ / s) V'``:
only V and s are needed, for s > tau. They come from the small Gram matrix ``Z'Z`` (or from the
subspace of the step before, see :func:`_warm`). Squaring costs accuracy only in singular values
near ``sqrt(eps) * s_max``; those are far below tau and are dropped anyway.

**Fewer steps.** A step is one of proximal gradient descent of step length 1 on (1), so Nesterov's
extrapolation applies; the minimum is the same, and is approached more closely at a given tolerance.

**A new row.** At the minimum ``M = U diag(d) V'``. Because
``||M||_* = min over M = A B' of (||A||^2 + ||B||^2) / 2``, attained at ``A = U diag(sqrt d)``,
``B = V diag(sqrt d)``, each row of A is a ridge regression of its observed cells on B. In the
coordinates c of a row ``m = V c`` that reads

    c = (V_o' V_o + tau diag(1/d))^-1 V_o' x_o                                             (2)

with V_o the rows of V at the observed columns: the fixed point of the soft-threshold map in one row
while V and d stay. It needs nothing but (V, d, tau), gives the training rows their own row of M
back at the minimum, and 0 to a row with nothing observed. :func:`complete_rows` solves it for
``a = diag(1 / sqrt d) c``, which avoids dividing by a small d.

**Weights.** A row of weight w equals w equal rows when it is multiplied by sqrt(w): (1) then has w
times its loss, and the Gram matrix, hence the nuclear norm, is that of the repeated rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

#: directions carried beyond the rank of the last step, so that the rank can grow again
_SPARE = 10
#: a carried subspace is worth its products while it is this many times smaller than the Gram matrix
_WORTH = 4


class Completion(NamedTuple):
    """A fitted completion.

    Attributes
    ----------
    axes : ndarray of shape (D, r)
        V of the completed matrix.
    strength : ndarray of shape (r,)
        Its singular values d, after shrinkage, all above 0.
    tau : float
    n_iter : int
    objective : float
        Value of (1).
    steps : ndarray of shape (n_iter - 1,)
        Relative change of the missing cells in each step but the first.
    """

    axes: np.ndarray
    strength: np.ndarray
    tau: float
    n_iter: int
    objective: float
    steps: np.ndarray


def complete(
    values: np.ndarray,
    observed: np.ndarray,
    weight: np.ndarray | None = None,
    *,
    tau: float | None = None,
    shrink: float = 0.02,
    tol: float = 1e-3,
    max_iter: int = 100,
) -> tuple[np.ndarray, Completion]:
    """Complete a matrix with gaps.

    Parameters
    ----------
    values, observed : ndarray of shape (N, D)
        Values are 0 in gaps.
    weight : ndarray of shape (N,), optional
        Positive; a row of weight w counts as w equal rows.
    tau : float, optional
        Threshold of (1); ``shrink`` times the largest singular value of the zero-filled matrix if
        not given.
    shrink : float
        See ``tau``.
    tol : float
        Stop when the Frobenius norm of the change of the missing cells, relative to their norm
        before, falls below.
    max_iter : int
        Most steps.

    Returns
    -------
    filled : ndarray of shape (N, D)
        Observed cells as they came, the others from M.
    completion : Completion
    """
    root = np.ones((len(values), 1)) if weight is None else np.sqrt(weight)[:, None]
    scaled = values * root
    if tau is None:
        tau = shrink * _largest_singular_value(scaled)
    if not scaled.any():
        none = np.zeros(0)
        return values.copy(), Completion(np.zeros((values.shape[1], 0)), none, tau, 0, 0.0, none)
    wide = scaled.shape[0] < scaled.shape[1]
    data, gaps = (scaled.T, ~observed.T) if wide else (scaled, ~observed)
    guess, last, steps = _iterate(data, gaps, tau, tol, max_iter)
    axes = last.image @ (last.core @ last.short) / last.strength if wide else last.short
    axes[~observed.any(axis=0)] = 0.0  # an empty column is 0, not a rounding error
    filled = np.where(observed, values, (guess.T if wide else guess) / root)
    objective = _objective(data, gaps, last, tau)
    found = Completion(axes, last.strength, tau, len(steps) + 1, objective, np.array(steps))
    return filled, found


def complete_rows(completion: Completion, values: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Fill the gaps of rows by formula (2), each row by itself; values are 0 in gaps."""
    filled = np.where(observed, values, 0.0).astype(np.float64, copy=False)
    basis = completion.axes * np.sqrt(completion.strength)
    for row in np.flatnonzero(~observed.all(axis=1)):
        there = observed[row]
        seen, x = basis[there], filled[row, there]
        filled[row, ~there] = basis[~there] @ _ridge(seen, x, completion.tau)
    return filled


class _Step(NamedTuple):
    """``S_tau(Z) = image @ core`` of a matrix Z that is not wider than long."""

    image: np.ndarray  # Z, or Z times the carried subspace
    core: np.ndarray
    short: np.ndarray  # singular vectors on the short side, and their shrunk singular values
    strength: np.ndarray
    carried: np.ndarray  # short axes including some below tau, the next step's first guess


def _largest_singular_value(matrix: np.ndarray) -> float:
    small = matrix.T if matrix.shape[0] >= matrix.shape[1] else matrix
    return float(np.sqrt(np.linalg.eigvalsh(small @ small.T).max(initial=0.0)))


def _iterate(
    data: np.ndarray, gaps: np.ndarray, tau: float, tol: float, max_iter: int
) -> tuple[np.ndarray, _Step, list[float]]:
    """Soft-threshold until the missing cells rest; M, the last step, and relative changes."""
    filled, guess, momentum = data.copy(), np.zeros_like(data), 1.0
    ahead = guess
    last: _Step | None = None
    steps: list[float] = []
    for n_iter in range(1, max_iter + 1):
        last = _threshold(filled, tau, last)
        new = (last.image @ last.core) * gaps
        step, before = new - guess, float(np.linalg.norm(guess))
        change = float(np.linalg.norm(step))
        if n_iter > 1:
            steps.append(change / before if before else 0.0)
        if n_iter == max_iter or change == 0 or (before > 0 and change < tol * before):
            return new, last, steps
        ahead, momentum = _extrapolate(new, step, ahead, momentum)
        guess = new
        np.add(data, ahead, out=filled)
    raise ValueError(f"max_iter must be at least 1, got {max_iter!r}")


def _extrapolate(
    new: np.ndarray, step: np.ndarray, ahead: np.ndarray, momentum: float
) -> tuple[np.ndarray, float]:
    """Where the next step starts: beyond ``new``, by Nesterov's sequence.

    The momentum starts afresh when it points uphill (O'Donoghue and Candes, 2015).
    """
    ahead = ahead - new
    if np.vdot(ahead, step) > 0:
        return new, 1.0
    longer = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
    np.multiply(step, (momentum - 1) / longer, out=ahead)
    ahead += new
    return ahead, longer


def _threshold(filled: np.ndarray, tau: float, last: _Step | None) -> _Step:
    """``S_tau(filled)``, from the subspace of the last step if that is good enough."""
    if last is not None and _WORTH * last.carried.shape[1] < filled.shape[1]:
        image, power, turn, basis = _warm(filled, last.carried)
        if power[0] <= tau**2:
            return _shrink(image, power, turn, basis, tau)
    power, turn = np.linalg.eigh(filled.T @ filled)
    return _shrink(filled, power, turn, None, tau)


def _warm(filled: np.ndarray, carried: np.ndarray) -> tuple[np.ndarray, ...]:
    """One step of subspace iteration, and the Gram matrix within the subspace decomposed.

    From one soft-threshold step to the next the leading axes hardly turn, so a single step follows
    them. If even the least direction carried is above tau, some may have been missed, and the
    caller falls back on the whole Gram matrix.
    """
    basis, _ = np.linalg.qr(filled.T @ (filled @ carried))
    image = filled @ basis
    power, turn = np.linalg.eigh(image.T @ image)
    return image, power, turn, basis


def _shrink(
    image: np.ndarray, power: np.ndarray, turn: np.ndarray, basis: np.ndarray | None, tau: float
) -> _Step:
    """Keep what is above tau. ``image = Z basis``; ``power``, ``turn``: eigenpairs, ascending."""
    singular = np.sqrt(np.maximum(power, 0.0))
    kept = singular > tau
    carried = turn[:, max(0, len(power) - int(kept.sum()) - _SPARE) :]
    within, strength = turn[:, kept], singular[kept] - tau
    short = within
    if basis is not None:
        short, carried = basis @ within, basis @ carried
    core = (within * (strength / singular[kept])) @ short.T
    return _Step(image, core, short, strength, carried)


def _ridge(seen: np.ndarray, x: np.ndarray, tau: float) -> np.ndarray:
    """``(B'B + tau I)^-1 B'x``, through the smaller of the two equivalent systems."""
    n, r = seen.shape
    if n < r:
        return seen.T @ np.linalg.solve(seen @ seen.T + tau * np.eye(n), x)
    return np.linalg.solve(seen.T @ seen + tau * np.eye(r), seen.T @ x)


def _objective(data: np.ndarray, gaps: np.ndarray, last: _Step, tau: float) -> float:
    error = (data - last.image @ last.core) * ~gaps
    return float(0.5 * np.vdot(error, error) + tau * last.strength.sum())
