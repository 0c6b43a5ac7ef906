"""Wide rows of which few cells are known: absent means missing, and nothing is made dense."""

import numpy as np
from scipy.sparse import csr_array

from nanwise import NanRegressor, Plan

rng = np.random.default_rng(0)
rows, columns = 1500, 1000

# A row is a customer of some taste, a column a thing to rate, and the few ratings known are noisy
# readings of the taste. Some customers rated 5 things, others 100.
taste = rng.normal(size=rows)
counts = rng.integers(5, 100, size=rows)
indices = np.concatenate([np.sort(rng.choice(columns, n, replace=False)) for n in counts])
ratings = 3 + np.repeat(taste, counts) + rng.normal(size=counts.sum())
X = csr_array((ratings, indices, np.r_[0, counts.cumsum()]), shape=(rows, columns))
print(f"{X.nnz / rows:.0f} of {columns} cells known per row")

plan = Plan(epochs=8, batch=64, lr=3e-3)
for gaps in ("zero", "sparsity_norm"):
    model = NanRegressor(gaps, (32,), sparse="stored", plan=plan, random_state=0)
    model.fit(X[:1200], taste[:1200])
    print(f"R2 on new rows, {gaps}: {model.score(X[1200:], taste[1200:]):.2f}")
