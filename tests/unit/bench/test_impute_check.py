"""The check on hidden cells that ``nanwise impute`` reports."""

import numpy as np
import pandas as pd

from nanwise.bench.impute_check import held_out_check
from nanwise.data.schema import OTHER, Schema
from nanwise.estimators.table_imputer import TableImputer


def test_rare_levels_are_not_counted_as_filled_well():
    """Nearly every text is its own: "(other)" would always be right, and fills nothing."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=400)
    texts = [f"t{i}" for i in range(400)]
    texts[::40] = ["often"] * 10
    frame = pd.DataFrame({"z": z, "w": z + 0.1 * rng.normal(size=400), "u": texts})
    schema = Schema.infer(frame)
    before = schema.check(frame)[0]
    model = TableImputer("em", schema=schema, random_state=0).fit(frame)
    assert OTHER in model.schema_["u"].levels
    found = held_out_check(model, before, 0.2, seed=0)
    text = next(column for column in found["columns"] if column["name"] == "u")
    assert text["held"] <= 10
    assert found["cells"] == sum(column["held"] for column in found["columns"])
