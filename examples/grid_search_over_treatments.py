"""Let cross-validation choose what to do with the gaps, together with the learning rate."""

from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV

from nanwise import NanClassifier, Plan, load_dataset

pima = load_dataset("pima")
search = GridSearchCV(
    NanClassifier(hidden=(32,), plan=Plan(epochs=15), random_state=0),
    {
        "gaps": ["zero", "sparsity_norm", "missing_indicator", SimpleImputer(strategy="median")],
        "plan__lr": [1e-2],
    },
    scoring="roc_auc",
    cv=3,
)
search.fit(pima.X, pima.y)

for params, mean in zip(
    search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
):
    print(f"{mean:.3f}  {params['gaps']}")
print("chosen:", search.best_params_["gaps"])
