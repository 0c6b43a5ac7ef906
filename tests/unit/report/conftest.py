import runpy
from pathlib import Path

import pytest

FAKE = {
    name: made
    for file in ("fake_facts.py", "fake_recommend.py", "fake_impute.py", "fake_images.py")
    for name, made in runpy.run_path(str(Path(__file__).with_name(file))).items()
}


@pytest.fixture
def compare_facts():
    return FAKE["compare_facts"]()


@pytest.fixture
def stress_facts():
    return FAKE["stress_facts"]()


@pytest.fixture
def reproduce_facts():
    return FAKE["reproduce_facts"]()


@pytest.fixture(
    params=["compare", "stress", "reproduce", "recommend", "impute", "compare_imputers", "images"]
)
def any_facts(request):
    return FAKE[f"{request.param}_facts"]()
