"""Train on a table with real gaps, look at the score and at the drift, save, load."""

import tempfile

from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from nanwise import NanClassifier, Plan, load, load_dataset, save, stress

pima = load_dataset("pima")
X_train, X_test, y_train, y_test = train_test_split(
    pima.X, pima.y, test_size=0.2, stratify=pima.y, random_state=0
)

plan = Plan(epochs=30, lr=3e-3)
model = NanClassifier(gaps="sparsity_norm", hidden=(64, 64), plan=plan, random_state=0)
model.fit(X_train, y_train)
print(f"AUROC {roc_auc_score(y_test, model.predict_proba(X_test)[:, 1]):.3f}")

result = stress(model, X_test, y_test, repeats=5)
low, high = result.slope_interval
print(f"drift per 10 % more values: {result.slope:+.4f} ({low:+.4f} to {high:+.4f})")

with tempfile.TemporaryDirectory() as folder:
    save(model, f"{folder}/model")
    again = load(f"{folder}/model")
print("equal after loading:", bool((again.predict(X_test) == model.predict(X_test)).all()))
