"""The numbers behind the simulated screening cohort: examinations, panels, outcomes.

Every number here is ours. They were chosen to look like a screening of people aged 40 to 79: levels
and spreads of a textbook, signs of the correlations that a physician would expect, and strengths of
the outcomes with which a network comes near to the published AUROC of each. None was estimated from
medical records.

A person is described by eight *drivers*, all of mean 0 and variance 1: age, being a man, and six
traits. A trait is a mixture of age, sex, one metabolic factor that the traits share, and a part of
its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

AGES = (40.0, 79.0)
#: of the beta distribution of the age between ``AGES``: most people are in their fifties
AGE_SHAPE = (1.6, 2.6)
MEN = 0.54

#: trait -> weights of age, being a man, and the metabolic factor
TRAITS: dict[str, tuple[float, float, float]] = {
    "adiposity": (0.10, 0.15, 0.60),
    "pressure": (0.45, 0.15, 0.45),
    "sugar": (0.25, 0.10, 0.50),
    "liver": (-0.05, 0.30, 0.50),
    "kidney": (0.40, 0.10, 0.25),
    "heart": (0.45, 0.10, 0.35),
}
DRIVERS = ("age", "male", *TRAITS)

Weights = Mapping[str, float]


@dataclass(frozen=True)
class Examination:
    """One column: ``centre + spread · (weights @ drivers + rest)``.

    Attributes
    ----------
    name, unit : str
    centre, spread : float
        Of the value; of its natural logarithm if ``log``.
    weights : mapping
        Driver to weight. The rest is noise of variance ``1 - Σ weight²``.
    log : bool
        Whether the value is the exponential of the formula.
    """

    name: str
    unit: str
    centre: float
    spread: float
    weights: Weights
    log: bool = False


@dataclass(frozen=True)
class Panel:
    """Examinations that are done together, or not at all.

    Attributes
    ----------
    name : str
    share : float
        Of the people who have it.
    weights : mapping
        How the log-odds of having it depend on the drivers.
    habit : float
        How they depend on a person's habit of going to the doctor, which has nothing to do with
        health.
    examinations : tuple of Examination
    """

    name: str
    share: float
    weights: Weights
    habit: float
    examinations: tuple[Examination, ...]


@dataclass(frozen=True)
class Outcome:
    """A diagnosis: log-odds ``strength · (weights @ drivers + 0.3 · first · second)`` + constant.

    Attributes
    ----------
    name : str
    prevalence : float
        Share of the people who have it.
    strength : float
        How well it can be told from the drivers.
    weights : mapping
        Driver to weight.
    together : pair of str
        Two drivers that are worse together than apart.
    """

    name: str
    prevalence: float
    strength: float
    weights: Weights
    together: tuple[str, str]


#: weight of the product in an outcome
TOGETHER = 0.3

PANELS: tuple[Panel, ...] = (
    Panel(
        "vitals",
        0.97,
        {"age": -0.2},
        0.5,
        (
            Examination("height", "cm", 164, 9, {"male": 0.70, "age": -0.25}),
            Examination("weight", "kg", 4.15, 0.16, {"male": 0.50, "adiposity": 0.65}, log=True),
            Examination("waist", "cm", 82, 8.8, {"male": 0.35, "adiposity": 0.80}),
            Examination("systolic", "mmHg", 4.83, 0.125, {"pressure": 0.85, "age": 0.10}, log=True),
            Examination(
                "diastolic", "mmHg", 4.36, 0.13, {"pressure": 0.80, "male": 0.10}, log=True
            ),
            Examination("pulse", "1/min", 4.25, 0.14, {"heart": 0.25, "adiposity": 0.15}, log=True),
        ),
    ),
    Panel(
        "basic blood",
        0.92,
        {"age": 0.1},
        0.7,
        (
            Examination("glucose", "mg/dl", 4.57, 0.19, {"sugar": 0.82}, log=True),
            Examination(
                "cholesterol", "mg/dl", 5.27, 0.18, {"adiposity": 0.20, "male": -0.10}, log=True
            ),
            Examination("haemoglobin", "g/dl", 13.9, 1.5, {"male": 0.60, "kidney": -0.20}),
            Examination("ast", "U/l", 3.2, 0.35, {"liver": 0.65}, log=True),
            Examination("alt", "U/l", 3.1, 0.48, {"liver": 0.70, "male": 0.20}, log=True),
            Examination("ggt", "U/l", 3.3, 0.65, {"liver": 0.55, "male": 0.30}, log=True),
        ),
    ),
    Panel(
        "urine",
        0.85,
        {"kidney": 0.2},
        0.8,
        (
            Examination(
                "urine protein", "mg/dl", 1.9, 0.8, {"kidney": 0.60, "sugar": 0.20}, log=True
            ),
            Examination("urine ph", "", 6.0, 0.5, {"sugar": -0.15}),
        ),
    ),
    Panel(
        "lipids",
        0.60,
        {"adiposity": 0.4, "pressure": 0.3, "age": 0.3},
        1.0,
        (
            Examination(
                "triglycerides", "mg/dl", 4.75, 0.52, {"adiposity": 0.45, "liver": 0.25}, log=True
            ),
            Examination("hdl", "mg/dl", 3.96, 0.25, {"adiposity": -0.40, "male": -0.25}, log=True),
            Examination("ldl", "mg/dl", 4.71, 0.30, {"adiposity": 0.20, "heart": 0.10}, log=True),
        ),
    ),
    Panel(
        "kidney",
        0.55,
        {"kidney": 0.5, "pressure": 0.4, "age": 0.3},
        1.0,
        (
            Examination(
                "creatinine", "mg/dl", -0.13, 0.25, {"kidney": 0.60, "male": 0.50}, log=True
            ),
            Examination("urea", "mg/dl", 2.65, 0.28, {"kidney": 0.60, "age": 0.15}, log=True),
            Examination(
                "uric acid",
                "mg/dl",
                1.62,
                0.27,
                {"male": 0.45, "kidney": 0.30, "adiposity": 0.25},
                log=True,
            ),
        ),
    ),
    Panel(
        "blood count",
        0.50,
        {"age": 0.2, "heart": 0.2},
        1.0,
        (
            Examination("leucocytes", "1000/µl", 1.8, 0.27, {"adiposity": 0.25}, log=True),
            Examination(
                "platelets", "1000/µl", 5.46, 0.24, {"liver": -0.20, "age": -0.15}, log=True
            ),
            Examination("crp", "mg/l", -0.2, 1.0, {"adiposity": 0.35, "heart": 0.20}, log=True),
        ),
    ),
    Panel(
        "liver",
        0.30,
        {"liver": 0.8, "male": 0.2},
        1.0,
        (
            Examination("bilirubin", "mg/dl", -0.3, 0.4, {"liver": 0.25, "male": 0.25}, log=True),
            Examination("albumin", "g/dl", 4.4, 0.3, {"liver": -0.25, "age": -0.30}),
            Examination(
                "alkaline phosphatase", "U/l", 4.2, 0.3, {"liver": 0.30, "age": 0.15}, log=True
            ),
        ),
    ),
    Panel(
        "sugar",
        0.25,
        {"sugar": 1.0, "age": 0.2},
        1.0,
        (
            Examination("hba1c", "%", 1.75, 0.12, {"sugar": 0.90}, log=True),
            Examination(
                "insulin", "µU/ml", 2.1, 0.55, {"sugar": 0.40, "adiposity": 0.50}, log=True
            ),
        ),
    ),
    Panel(
        "heart",
        0.20,
        {"heart": 0.9, "age": 0.4, "pressure": 0.3},
        1.0,
        (
            Examination("qtc", "ms", 415, 24, {"heart": 0.35, "male": -0.25}),
            Examination(
                "nt-probnp",
                "pg/ml",
                4.2,
                1.0,
                {"heart": 0.70, "age": 0.20, "kidney": 0.15},
                log=True,
            ),
        ),
    ),
    Panel(
        "ultrasound",
        0.15,
        {"liver": 0.9, "adiposity": 0.4},
        1.0,
        (Examination("liver fat", "%", 1.6, 0.7, {"liver": 0.60, "adiposity": 0.45}, log=True),),
    ),
    Panel(
        "lungs",
        0.12,
        {"age": 0.3, "male": 0.5},
        1.0,
        (
            Examination(
                "fev1", "l", 1.0, 0.24, {"male": 0.55, "age": -0.50, "heart": -0.10}, log=True
            ),
        ),
    ),
    Panel(
        "bones",
        0.10,
        {"age": 0.6, "male": -1.2},
        1.0,
        (Examination("bone density", "g/cm²", 0.95, 0.14, {"age": -0.40, "male": 0.30}),),
    ),
    Panel(
        "echo",
        0.08,
        {"heart": 1.3, "age": 0.3},
        0.8,
        (Examination("ejection fraction", "%", 62, 6.5, {"heart": -0.75}),),
    ),
)

OUTCOMES: tuple[Outcome, ...] = (
    Outcome(
        "cardiovascular",
        0.10,
        0.8,
        {"age": 0.5, "heart": 0.5, "pressure": 0.4, "male": 0.2},
        ("heart", "pressure"),
    ),
    Outcome(
        "fatty liver",
        0.07,
        0.65,
        {"liver": 0.7, "adiposity": 0.6, "male": 0.1},
        ("liver", "adiposity"),
    ),
    Outcome(
        "hypertension",
        0.20,
        1.4,
        {"pressure": 0.9, "adiposity": 0.2, "age": 0.2},
        ("pressure", "age"),
    ),
    Outcome(
        "heart failure", 0.03, 1.2, {"heart": 0.8, "age": 0.4, "kidney": 0.2}, ("heart", "kidney")
    ),
    Outcome(
        "diabetes", 0.08, 3.0, {"sugar": 1.0, "adiposity": 0.2, "age": 0.1}, ("sugar", "adiposity")
    ),
)
