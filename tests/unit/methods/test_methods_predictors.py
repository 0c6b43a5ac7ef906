"""The rivals take gaps, empty columns and weights, and learn."""

import numpy as np
import pytest

from nanwise.registry import find, known

RIVALS = ["hist_gradient_boosting", "linear"]


@pytest.mark.parametrize("name", RIVALS)
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_learns_with_gaps(name, task):
    draw = np.random.default_rng(0)
    x = draw.normal(size=(300, 4))
    y = x[:, 0] - x[:, 1]
    y = (y > 0).astype(int) if task == "classification" else y
    x[draw.random(x.shape) < 0.1] = np.nan
    x[:, 3] = np.nan
    entry = find(name, "predictor")
    model = entry.make(task, random_state=0, **entry.tiny).fit(x[:200], y[:200])
    again = entry.make(task, random_state=0, **entry.tiny).fit(x[:200], y[:200])
    assert model.score(x[200:], y[200:]) > (0.75 if task == "classification" else 0.4)
    np.testing.assert_array_equal(model.predict(x), again.predict(x))


@pytest.mark.parametrize("name", RIVALS)
def test_facts_and_bad_task(name):
    entry = find(name)
    assert (entry.kind, entry.role) == ("predictor", "rival")
    for key, choices in entry.space.items():
        for choice in choices:
            entry.make("regression", **{key: choice})
    with pytest.raises(ValueError, match="clustering"):
        entry.make("clustering")


def test_rivals_are_listed():
    assert {m.name for m in known("predictor")} >= set(RIVALS)
