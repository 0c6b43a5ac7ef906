"""Many small linear systems, one for each distinct pattern, solved in stacks.

A pattern says which of d columns take part. Rows of one pattern share a matrix, so it is factorised
once for all of them; patterns with equally many columns and rows are stacked, so that one call
factorises and solves a whole stack.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

#: most numbers in the matrices or right-hand sides of one stack; 4 MB stay in the cache
CHUNK = 1 << 19


class Stack(NamedTuple):
    """Patterns of equally many columns, each with equally many rows.

    Attributes
    ----------
    columns : ndarray of shape (p, k)
        Columns of each pattern, ascending.
    rows : ndarray of shape (p, m)
        Rows that have the pattern.
    """

    columns: np.ndarray
    rows: np.ndarray


class Solved(NamedTuple):
    """What :func:`solve` gives.

    Attributes
    ----------
    solution : ndarray of shape (n, d)
        For each row the solution, 0 outside its pattern.
    log_det : float
        Sum over patterns of weight times log-determinant; 0 unless weights were given.
    inverse : ndarray of shape (d, d)
        Sum over patterns of weight times inverse; 0 unless weights were given.
    """

    solution: np.ndarray
    log_det: float
    inverse: np.ndarray


def distinct(chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First rows of the distinct kinds in a boolean matrix, and for each row which kind it is."""
    if not chosen.size:
        return np.arange(min(len(chosen), 1)), np.zeros(len(chosen), dtype=np.intp)
    bits = np.packbits(chosen, axis=1)
    padded = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), dtype=np.uint8)
    padded[:, : bits.shape[1]] = bits
    words = padded.view(np.uint64)
    # One word sorts as a number, several as bytes; numpy's own axis=0 compares field by field.
    keys = words[:, 0] if words.shape[1] == 1 else padded.view(f"V{padded.shape[1]}")[:, 0]
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return first, which


def stacks(chosen: np.ndarray, alike: np.ndarray | None = None) -> list[Stack]:
    """Group the rows of a boolean matrix (n, d); rows without any True are left out.

    ``alike`` (n, d), if given, says which rows belong together; ``chosen`` must follow from it.
    """
    first, which = distinct(chosen if alike is None else alike)
    kinds = chosen[first]
    n_rows = np.bincount(which, minlength=len(kinds))
    order = np.argsort(which, kind="stable")
    starts = np.cumsum(n_rows) - n_rows
    width = kinds.sum(axis=1)
    found = []
    for k, m in np.unique(np.stack([width, n_rows], axis=1)[width > 0], axis=0):
        same = np.flatnonzero((width == k) & (n_rows == m))
        per_chunk = max(1, CHUNK // int(k * max(k, m)))
        for part in np.array_split(same, -(-len(same) // per_chunk)):
            rows = order[starts[part][:, None] + np.arange(m)]
            found.append(Stack(np.nonzero(kinds[part])[1].reshape(len(part), k), rows))
    return found


def solve(
    groups: list[Stack],
    matrix: np.ndarray,
    rhs: np.ndarray,
    *,
    diagonal: np.ndarray | None = None,
    weight: np.ndarray | None = None,
) -> Solved:
    """Solve ``matrix[c][:, c] s = rhs[i, c]`` for every row i, with c the columns of its pattern.

    Parameters
    ----------
    groups : list of Stack
        From :func:`stacks`.
    matrix : ndarray of shape (d, d)
        Symmetric, positive definite.
    rhs : ndarray of shape (n, d)
    diagonal : ndarray of shape (n, d), optional
        Added to the diagonal of the matrix of a row; equal in all rows of a pattern.
    weight : ndarray of shape (n,), optional
        If given, log-determinants and inverses are summed over rows with these weights.
    """
    import torch

    d = len(matrix)
    whole, given = torch.from_numpy(matrix), torch.from_numpy(np.ascontiguousarray(rhs))
    solution = torch.zeros(rhs.shape, dtype=torch.float64)
    inverse, log_det = torch.zeros(d * d, dtype=torch.float64), 0.0
    for group in groups:
        columns, rows = torch.from_numpy(group.columns), torch.from_numpy(group.rows)
        cells = columns[:, :, None] * d + columns[:, None, :]
        places = rows[:, None, :] * d + columns[:, :, None]
        system = whole.reshape(-1)[cells]
        if diagonal is not None:
            extra = torch.from_numpy(diagonal[group.rows[:, :1], group.columns])
            system.diagonal(dim1=1, dim2=2).add_(extra)
        root, right = torch.linalg.cholesky(system), given.view(-1)[places]
        if weight is None:
            answer = torch.cholesky_solve(right, root)
        else:
            inverses = torch.cholesky_inverse(root)
            answer = inverses @ right
            heavy = torch.from_numpy(weight[group.rows].sum(axis=1))
            inverse.index_add_(0, cells.view(-1), (inverses * heavy[:, None, None]).reshape(-1))
            log_det += 2 * float(root.diagonal(dim1=1, dim2=2).log().sum(dim=1) @ heavy)
        solution.view(-1)[places.view(-1)] = answer.reshape(-1)
    return Solved(solution.numpy(), log_det, inverse.view(d, d).numpy())
