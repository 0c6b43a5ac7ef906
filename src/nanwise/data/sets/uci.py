"""Tables of the UCI repository and StatLib, by their columns.

The copies people have often carry an added header or another order of rows; so what was read is
checked by its content (:func:`nanwise.data.sets.base.content_checksum`), and the bytes only where
the official ones are known.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nanwise.data.fetch import File
from nanwise.data.sets.base import Spec
from nanwise.data.sets.text import BLANKS, read_rows

if TYPE_CHECKING:
    import pandas as pd

_ARCHIVE = "https://archive.ics.uci.edu/ml/machine-learning-databases"


def _names(text: str, sep: str | None = None) -> list[str]:
    return text.split(sep)


_SPAM_WORDS = (
    "make address all 3d our over remove internet order mail receive will people report addresses "
    "free business email you credit your font 000 money hp hpl george 650 lab labs telnet 857 data "
    "415 85 technology 1999 parts pm direct cs meeting original project re edu table conference"
)
SPAM = [
    *(f"word_freq_{word}" for word in _SPAM_WORDS.split()),
    *(f"char_freq_{char}" for char in ";([!$#"),
    *(f"capital_run_length_{kind}" for kind in ("average", "longest", "total")),
    "spam",
]
CREDIT = _names(
    "LIMIT_BAL SEX EDUCATION MARRIAGE AGE PAY_0 PAY_2 PAY_3 PAY_4 PAY_5 PAY_6 BILL_AMT1 BILL_AMT2 "
    "BILL_AMT3 BILL_AMT4 BILL_AMT5 BILL_AMT6 PAY_AMT1 PAY_AMT2 PAY_AMT3 PAY_AMT4 PAY_AMT5 PAY_AMT6 "
    "default",
)
CRASHES = _names(
    "study run vconst_corr vconst_2 vconst_3 vconst_4 vconst_5 vconst_7 ah_corr ah_bolus slm_corr "
    "efficiency_factor tidal_mix_max vertical_decay_scale convect_corr bckgrnd_vdc1 "
    "bckgrnd_vdc_ban bckgrnd_vdc_eq bckgrnd_vdc_psim Prandtl outcome",
)
HEART = _names(
    "age sex chest_pain resting_pressure cholesterol fasting_sugar resting_ecg max_heart_rate "
    "exercise_angina oldpeak slope vessels thal disease",
)
BOSTON = _names("CRIM ZN INDUS CHAS NOX RM AGE DIS RAD TAX PTRATIO B LSTAT MEDV")
CALIFORNIA = _names(
    "longitude latitude housing_median_age total_rooms total_bedrooms population households "
    "median_income median_house_value",
)
MUSHROOM = _names(
    "edibility cap-shape cap-surface cap-color bruises odor gill-attachment gill-spacing gill-size "
    "gill-color stalk-shape stalk-root stalk-surface-above-ring stalk-surface-below-ring "
    "stalk-color-above-ring stalk-color-below-ring veil-type veil-color ring-number ring-type "
    "spore-print-color population habitat",
)
YEAST = _names("sequence mcg gvh alm mit erl pox vac nuc site")
WINE = _names(
    "fixed acidity,volatile acidity,citric acid,residual sugar,chlorides,free sulfur dioxide,"
    "total sulfur dioxide,density,pH,sulphates,alcohol,quality",
    ",",
)
PHISHING = [*(f"x{j}" for j in range(30)), "phishing"]


def _table(paths: list[Path], names: list[str], sep: str = ",", drop: Any = ()) -> pd.DataFrame:
    return read_rows(paths[0], names, sep).drop(columns=list(drop))


def _heart(paths: list[Path]) -> pd.DataFrame:
    frame = read_rows(paths[0], HEART, BLANKS)
    return frame.assign(disease=frame["disease"] - 1)


def _phishing(paths: list[Path]) -> pd.DataFrame:
    frame = read_rows(paths[0], PHISHING)
    return frame.assign(phishing=(frame["phishing"] < 0).astype(int))


def _california(paths: list[Path]) -> pd.DataFrame:
    """The form of scikit-learn's fetch_california_housing: means per household, 100,000 dollars."""
    raw = read_rows(paths[0], CALIFORNIA)
    homes = raw["households"]
    columns = {
        "MedInc": raw["median_income"],
        "HouseAge": raw["housing_median_age"],
        "AveRooms": raw["total_rooms"] / homes,
        "AveBedrms": raw["total_bedrooms"] / homes,
        "Population": raw["population"],
        "AveOccup": raw["population"] / homes,
        "Latitude": raw["latitude"],
        "Longitude": raw["longitude"],
        "MedHouseVal": raw["median_house_value"] / 100_000,
    }
    return type(raw)(columns)


def _uci(name: str, number: int, slug: str, citation: str, **facts: Any) -> Spec:
    return Spec(
        name=name,
        source=f"https://archive.ics.uci.edu/dataset/{number}/{slug}",
        licence="CC BY 4.0 (UCI)",
        citation=citation,
        **{"gaps": 0, **facts},
    )


_CRASHES: dict[str, Any] = {
    "number": 252,
    "slug": "climate+model+simulation+crashes",
    "citation": "Lucas et al. (2013), Failure analysis of parameter-induced simulation crashes in "
    "climate models",
    "target": "outcome",
    "rows": 540,
    "files": (File("uci/crashes/pop_failures.dat", f"{_ARCHIVE}/00252/pop_failures.dat"),),
}

SPECS = [
    _uci(
        "spam",
        94,
        "spambase",
        "Hopkins, Reeber, Forman, Suermondt (1999), Spambase",
        target="spam",
        about="Is it spam? Frequencies of words in mails",
        rows=4601,
        columns=57,
        read=partial(_table, names=SPAM),
        checksum="653dcfeb7f820c17",
        files=(File("uci/spambase/spambase.data", f"{_ARCHIVE}/spambase/spambase.data"),),
    ),
    _uci(
        "credit",
        350,
        "default+of+credit+card+clients",
        "Yeh, Lien (2009), The comparisons of data mining techniques for the predictive accuracy "
        "of probability of default of credit card clients",
        target="default",
        about="Default of credit card clients in Taiwan; as CSV without the ID column",
        rows=30000,
        columns=23,
        read=partial(_table, names=CREDIT),
        checksum="2cae074b5e0e573c",
        # The official file is an Excel sheet; the CSV is what everybody uses.
        files=(File("uci/credit_default/UCI_Credit_Card.csv"),),
    ),
    _uci(
        "crashes",
        about="Crashes of a climate model; the 18 parameters, without study and run number",
        columns=18,
        read=partial(_table, names=CRASHES, sep=BLANKS, drop=("study", "run")),
        checksum="9ded2f239e672a1a",
        **_CRASHES,
    ),
    _uci(
        "crashes20",
        about="Crashes with study and run number as features: the 20 attributes of SN Table 8",
        columns=20,
        read=partial(_table, names=CRASHES, sep=BLANKS),
        checksum="cb78761fc4ca100b",
        **_CRASHES,
    ),
    _uci(
        "heart",
        145,
        "statlog+heart",
        "Statlog (Heart), UCI Machine Learning Repository",
        target="disease",
        about="Heart disease; classes 1 and 2 of the file are 0 and 1 here",
        rows=270,
        columns=13,
        read=_heart,
        checksum="724db9be8ebdcc62",
        files=(File("uci/statlog_heart/heart.dat", f"{_ARCHIVE}/statlog/heart/heart.dat"),),
    ),
    _uci(
        "mushroom",
        73,
        "mushroom",
        "Mushroom (1981), UCI Machine Learning Repository",
        target="edibility",
        about="Edible (e) or poisonous (p)? All columns are letters; stalk-root has gaps",
        rows=8124,
        columns=22,
        gaps=2480,
        read=partial(_table, names=MUSHROOM),
        checksum="a08e0785b4900e8f",
        files=(
            File(
                "uci/mushroom/agaricus-lepiota.data", f"{_ARCHIVE}/mushroom/agaricus-lepiota.data"
            ),
        ),
    ),
    _uci(
        "yeast",
        110,
        "yeast",
        "Nakai, Kanehisa (1991), Expert system for predicting protein localization sites",
        target="site",
        about="Where in the cell a protein goes; ten sites, the rarest five times",
        rows=1484,
        columns=8,
        read=partial(_table, names=YEAST, sep=BLANKS, drop=("sequence",)),
        checksum="9bebb6ab72d68a68",
        files=(
            File(
                "uci/yeast/yeast.data.txt",
                f"{_ARCHIVE}/yeast/yeast.data",
                "7cf61776fc04f527f93bf57a327b863893a1225d82df02d457e8950173218258",
            ),
        ),
    ),
    _uci(
        "whitewine",
        186,
        "wine+quality",
        "Cortez, Cerdeira, Almeida, Matos, Reis (2009), Modeling wine preferences by data mining "
        "from physicochemical properties",
        target="quality",
        about="Quality of white wine, 3 to 9, as a number",
        task="regression",
        rows=4898,
        columns=11,
        read=partial(_table, names=WINE, sep=";"),
        checksum="7604998fada43d1e",
        files=(
            File(
                "uci/whitewine/winequality-white.csv",
                f"{_ARCHIVE}/wine-quality/winequality-white.csv",
                "76c3f809815c17c07212622f776311faeb31e87610d52c26d87d6e361b169836",
            ),
        ),
    ),
    _uci(
        "phishing",
        327,
        "phishing+websites",
        "Mohammad, McCluskey (2012), Phishing Websites",
        target="phishing",
        about="Phishing site (-1 in the file, 1 here)? Signs coded -1, 0, 1; ARFF header stripped",
        rows=11055,
        columns=30,
        read=_phishing,
        checksum="2b2739a23be80852",
        files=(File("uci/phishing/Training Dataset.arff"),),
    ),
    Spec(
        name="boston",
        target="MEDV",
        about="House prices in Boston, 1970; kept to compare with published figures only: one "
        "feature, B, encodes race",
        task="regression",
        rows=506,
        columns=13,
        gaps=0,
        source="http://lib.stat.cmu.edu/datasets/boston",
        licence="public domain by common understanding; none stated",
        citation="Harrison, Rubinfeld (1978), Hedonic prices and the demand for clean air",
        read=partial(_table, names=BOSTON, sep=BLANKS),
        checksum="8d7c1ef1f6588dfe",
        files=(File("uci/boston/housing.data", f"{_ARCHIVE}/housing/housing.data"),),
    ),
    Spec(
        name="california",
        target="MedHouseVal",
        about="House values in California, 1990, in the form of scikit-learn's copy",
        task="regression",
        rows=20640,
        columns=8,
        gaps=0,
        source="https://www.dcc.fc.up.pt/~ltorgo/Regression/cal_housing.html",
        licence="none stated (StatLib)",
        citation="Pace, Barry (1997), Sparse spatial autoregressions",
        read=_california,
        checksum="0766ae7829eb2f4b",
        files=(File("uci/california/cal_housing.data"),),
    ),
]
