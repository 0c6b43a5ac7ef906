import runpy
from pathlib import Path

import pytest

FAKE = runpy.run_path(str(Path(__file__).with_name("fake_facts.py")))


@pytest.fixture
def compare_facts():
    return FAKE["compare_facts"]()


@pytest.fixture
def stress_facts():
    return FAKE["stress_facts"]()


@pytest.fixture
def reproduce_facts():
    return FAKE["reproduce_facts"]()


@pytest.fixture(params=["compare", "stress", "reproduce"])
def any_facts(request):
    return FAKE[f"{request.param}_facts"]()
