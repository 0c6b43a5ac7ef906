"""The stress test takes any fitted model: here gradient boosted trees, which accept NaN."""

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from nanwise import load_dataset, stress

pima = load_dataset("pima")
X_train, X_test, y_train, y_test = train_test_split(
    pima.X, pima.y, test_size=0.3, stratify=pima.y, random_state=0
)
model = HistGradientBoostingClassifier(max_iter=50, random_state=0).fit(X_train, y_train)

result = stress(model, X_test, y_test, repeats=5)
low, high = result.slope_interval
print(f"drift per 10 % more values: {result.slope:+.4f} ({low:+.4f} to {high:+.4f})")
print(f"sparsity bias: {result.sparsity_bias:.2f}")
