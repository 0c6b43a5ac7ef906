"""nanwise: neural networks that train directly on incomplete data."""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# Name -> module. Loaded on first use, so that ``import nanwise`` stays free of torch.
_NAMES = {
    "NanClassifier": "nanwise.estimators.supervised",
    "NanRegressor": "nanwise.estimators.supervised",
    "NeuMissClassifier": "nanwise.estimators.neumiss",
    "NeuMissRegressor": "nanwise.estimators.neumiss",
    "EMRegressor": "nanwise.estimators.gaussian",
    "GaussianImputer": "nanwise.estimators.gaussian",
    "Imputer": "nanwise.estimators.impute.base",
    "FillImputer": "nanwise.estimators.impute.by_treatment",
    "BoostedImputer": "nanwise.methods.mixed.boosted",
    "ChainedImputer": "nanwise.methods.mixed.chained",
    "GAINImputer": "nanwise.methods.mixed.gain",
    "MICEImputer": "nanwise.methods.mixed.mice",
    "NormalImputer": "nanwise.methods.mixed.gaussian",
    "MisGANImputer": "nanwise.methods.mixed.misgan",
    "MissForestImputer": "nanwise.methods.mixed.missforest",
    "AEImputer": "nanwise.methods.mixed.ae",
    "VAEImputer": "nanwise.methods.mixed.vae",
    "CVAEImputer": "nanwise.methods.mixed.cvae",
    "MVAEImputer": "nanwise.methods.mixed.mvae",
    "HIVAEImputer": "nanwise.methods.mixed.hivae",
    "MIWAEImputer": "nanwise.methods.mixed.miwae",
    "NotMIWAEImputer": "nanwise.methods.mixed.not_miwae",
    "ImageImputer": "nanwise.estimators.image.imputer",
    "ImageTreatment": "nanwise.estimators.image.treatment",
    "NanImageClassifier": "nanwise.estimators.image.classifier",
    "NanSeriesClassifier": "nanwise.estimators.series.supervised",
    "NanSeriesRegressor": "nanwise.estimators.series.supervised",
    "SeriesTreatment": "nanwise.estimators.series.treatment",
    "DMFAImputer": "nanwise.methods.image.dmfa",
    "MFAImputer": "nanwise.methods.image.mfa",
    "FlowImputer": "nanwise.methods.image.flow",
    "WAE": "nanwise.methods.image.wae",
    "make_imputer": "nanwise.estimators.impute.by_treatment",
    "VSAEImputer": "nanwise.methods.mixed.vsae",
    "MADE": "nanwise.methods.table.made",
    "TableModel": "nanwise.estimators.table_model",
    "TableImputer": "nanwise.estimators.table_imputer",
    "Recommender": "nanwise.estimators.recommender",
    "AutoRec": "nanwise.methods.rating.autorec",
    "CFNADE": "nanwise.methods.rating.cfnade",
    "AutoImpute": "nanwise.estimators.cells.autoimpute",
    "CFUIcA": "nanwise.methods.rating.cfuica",
    "Popularity": "nanwise.methods.rating.popularity",
    "Biases": "nanwise.methods.rating.biases",
    "Treatment": "nanwise.estimators.treatment",
    "Plan": "nanwise.train.plan",
    "Observed": "nanwise.missing",
    "observe": "nanwise.missing",
    "impute_many": "nanwise.estimators.impute.many",
    "pool": "nanwise.pooling.rubin",
    "pool_fit": "nanwise.pooling.fit",
    "compare": "nanwise.bench.compare",
    "compare_imputers": "nanwise.bench.imputers",
    "stress": "nanwise.stress_test.run",
    "mcar_test": "nanwise.gaussian.little",
    "ampute": "nanwise.data.ampute",
    "load_dataset": "nanwise.data.sets",
    "load_physionet2012": "nanwise.data.series",
    "read_ratings": "nanwise.data.ratings",
    "read_series": "nanwise.data.series",
    "read_table": "nanwise.data.table",
    "save": "nanwise.saving",
    "load": "nanwise.saving",
}

__all__ = ["__version__", *sorted(_NAMES)]


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'nanwise' has no attribute {name!r}")
    value = getattr(importlib.import_module(_NAMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
