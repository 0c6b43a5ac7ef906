"""Wide rows of which few cells are known: absent means missing, and nothing is made dense."""

import numpy as np
from scipy.sparse import csr_array

from nanwise import NanRegressor, Plan

rng = np.random.default_rng(0)
rows, columns, known = 500, 20_000, 30

# Each row has a level; its known cells are noisy readings of it. The number of readings varies.
level = rng.normal(size=rows)
counts = rng.integers(5, 2 * known, size=rows)
indptr = np.concatenate([[0], np.cumsum(counts)])
indices = np.concatenate([np.sort(rng.choice(columns, n, replace=False)) for n in counts])
data = np.repeat(level, counts) + rng.normal(scale=0.3, size=counts.sum())
X = csr_array((data, indices, indptr), shape=(rows, columns))

plan = Plan(epochs=10, batch=50, lr=1e-2)
model = NanRegressor(gaps="sparsity_norm", hidden=(16,), sparse="stored", plan=plan, random_state=0)
model.fit(X[:400], level[:400])
print(f"{X.nnz / rows:.0f} of {columns} cells known per row")
print(f"R2 on new rows: {model.score(X[400:], level[400:]):.2f}")
