import json

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.metrics import accuracy_score, log_loss, r2_score, roc_auc_score

from nanwise.bench.score import auroc
from nanwise.errors import DataError
from nanwise.stress_test import StressResult, stress
from nanwise.stress_test.scores import Scorer

WEIGHT = np.array([1.0, -0.5, 2.0, 0.25, 1.5, -1.0, 0.75, 0.5, 1.0, 3.0])
MEAN = np.linspace(0.2, 1.1, 10)


def rows(n, seed=0):
    return np.random.default_rng(seed).normal(MEAN, 1.0, size=(n, 10))


def zero_filled(X):
    return 3.0 + np.nan_to_num(X) @ WEIGHT


def sparsity_normed(X):
    count = (~np.isnan(X)).sum(axis=1)
    return 3.0 + np.nan_to_num(X) @ WEIGHT * 5 / np.maximum(count, 1)


def constant(X):
    return np.full(len(X), 0.3)


@pytest.fixture(scope="module")
def flowers():
    rng = np.random.default_rng(1)
    y = np.repeat(["a", "b", "c"], 40)
    X = rng.normal(size=(120, 4)) + 2 * (y[:, None] == np.array(["a", "b", "c", "d"]))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def test_zero_filling_drifts_by_exactly_the_linear_law():
    # E[w'x | share s of the values kept] = s w'x for every row, so the slope per 10 points is
    # 0.1 mean(w'x) exactly in expectation; the hiding leaves an error of its own interval only.
    X = rows(400)
    result = stress(zero_filled, X, repeats=60)
    exact = 0.1 * (X @ WEIGHT).mean()
    assert result.slope == pytest.approx(exact, rel=0.02)
    assert result.slope_interval[0] < exact < result.slope_interval[1]
    means = np.array(result.facts["outputs"][0]["mean"])
    law = 3.0 + np.array(result.facts["kept"]) * (X @ WEIGHT).mean()
    assert np.abs(means - law).max() < 0.03 * np.ptp(law)


def test_with_one_value_kept_in_all_ways_the_curve_is_exact():
    # All weights and values equal: which cells are hidden does not matter, only how many.
    result = stress(lambda X: np.nansum(X, axis=1), np.ones((5, 10)), repeats=2)
    assert result.slope == pytest.approx(1.0, abs=1e-12)
    assert result.slope_interval == pytest.approx((1.0, 1.0), abs=1e-12)
    assert result.facts["outputs"][0]["mean"] == pytest.approx(list(range(10, 0, -1)))
    assert result.sparsity_bias == float("inf")
    assert result.facts["sparsity_bias"] is None


def test_sparsity_normalisation_is_flat():
    X = rows(300)
    drifting, flat = stress(zero_filled, X), stress(sparsity_normed, X)
    assert flat.slope_interval[0] < 0 < flat.slope_interval[1]
    assert abs(flat.slope) < abs(drifting.slope) / 20
    assert flat.sparsity_bias < drifting.sparsity_bias / 10


def test_a_constant_model_does_not_move_at_all():
    result = stress(constant, rows(50), repeats=3)
    assert result.slope == 0
    assert result.slope_interval == (0, 0)
    assert result.sparsity_bias == 0


def test_sparsity_bias_is_spread_of_means_over_spread_of_rows():
    X = rows(200)
    result = stress(zero_filled, X, repeats=5)
    mean = result.facts["outputs"][0]["mean"]
    assert result.sparsity_bias == pytest.approx(
        (max(mean) - min(mean)) / zero_filled(X).std(), rel=1e-12
    )


def test_the_interval_covers_the_slope_of_the_population():
    # Rows are drawn anew every time: an interval that only knew the hiding would fail here.
    exact = 0.1 * MEAN @ WEIGHT
    hits = 0
    for seed in range(200):
        low, high = stress(
            zero_filled, rows(25, seed), shares=(1, 0.5, 0.2), repeats=2, random_state=seed
        ).slope_interval
        hits += low <= exact <= high
    assert 0.90 <= hits / 200 <= 0.985


def test_the_interval_of_one_row_covers_the_hiding():
    X = rows(1)
    exact = 0.1 * (X @ WEIGHT).item()
    runs = [
        stress(zero_filled, X, shares=(1, 0.6, 0.3), repeats=15, random_state=s) for s in range(200)
    ]
    covered = [r.slope_interval[0] <= exact <= r.slope_interval[1] for r in runs]
    assert 0.88 <= np.mean(covered) <= 0.99


def test_slope_uses_the_shares_really_left():
    # Three columns: 50 % of 3 values is 2 of them. Against nominal shares the line would bend.
    result = stress(
        lambda X: np.nansum(X, axis=1), np.ones((4, 3)), shares=(1, 0.5, 0.1), repeats=1
    )
    assert result.facts["kept"] == pytest.approx([1, 2 / 3, 0])
    assert result.slope == pytest.approx(0.3)


def test_two_classes_follow_the_second_one(flowers):
    X, y = flowers
    model = HistGradientBoostingClassifier(max_iter=5).fit(X, y == "a")
    result = stress(model, X, y == "a", repeats=3)
    assert result.facts["output"] == "True"
    full = model.predict_proba(X)[:, 1]
    assert result.facts["outputs"][0]["mean"][0] == pytest.approx(full.mean())
    assert result.scores["AUROC"][1.0] == pytest.approx(roc_auc_score(y == "a", full))


def test_several_classes_report_the_worst_and_all(flowers):
    X, y = flowers
    model = HistGradientBoostingClassifier(max_iter=5).fit(X, y)
    result = stress(model, X, y, repeats=4)
    slopes = {o["name"]: o["slope"] for o in result.facts["outputs"]}
    assert set(slopes) == {"a", "b", "c"}
    assert abs(sum(slopes.values())) < 1e-12  # probabilities sum to one at every share
    assert abs(result.slope) == max(map(abs, slopes.values()))
    assert stress(model, X, y, repeats=4, output="b").slope == pytest.approx(slopes["b"])


def test_intervals_of_several_outputs_hold_jointly():
    X = rows(60)
    one = stress(zero_filled, X, repeats=3)
    both = stress(lambda X: np.column_stack([zero_filled(X), constant(X)]), X, repeats=3)
    width = [np.ptp(r.slope_interval) for r in (one, both)]
    assert both.slope == pytest.approx(one.slope)
    assert width[1] / width[0] == pytest.approx(1.15, abs=0.03)  # t quantiles at .9875 and .975


def test_a_classifier_that_only_votes_is_followed_by_its_votes():
    X = rows(60)
    inner = RidgeClassifier().fit(X, X[:, 0] > 0)

    class Votes:
        classes_ = inner.classes_

        def predict(self, X):
            return inner.predict(np.nan_to_num(X))

    result = stress(Votes(), X, repeats=2)
    share = inner.predict(X).mean()
    assert result.facts["outputs"][0]["mean"][0] == pytest.approx(share)


def test_scores_equal_those_of_scikit_learn(flowers):
    X, y = flowers
    model = HistGradientBoostingClassifier(max_iter=5).fit(X, y)
    proba = model.predict_proba(X)
    scores = Scorer(y, "classification", list(model.classes_))(proba[None])
    assert scores["AUROC"][0] == pytest.approx(roc_auc_score(y, proba, multi_class="ovr"))
    assert scores["accuracy"][0] == pytest.approx(accuracy_score(y, model.predict(X)))
    assert scores["log loss"][0] == pytest.approx(log_loss(y, proba))


def test_a_class_that_does_not_occur_is_left_out_of_the_area_as_in_compare(flowers):
    X, y = flowers
    model = HistGradientBoostingClassifier(max_iter=3).fit(X, y)
    two = y != "c"
    result = stress(model, X[two], y[two], shares=(1.0, 0.5), repeats=2)
    expected = auroc(y[two], model.predict_proba(X[two]), model.classes_)
    assert result.scores["AUROC"][1.0] == pytest.approx(expected)


def test_the_band_of_a_single_row_has_a_width():
    facts = stress(zero_filled, rows(1), shares=(1.0, 0.5), repeats=20).facts
    low, high = (facts["outputs"][0][k][1] for k in ("change_low", "change_high"))
    assert low < facts["outputs"][0]["change"][1] < high


def test_scores_of_a_regressor_equal_those_of_scikit_learn(flowers):
    X, _ = flowers
    target = np.nan_to_num(X[:, 0]) * 2 + 1
    model = HistGradientBoostingRegressor(max_iter=10).fit(X, target)
    result = stress(model, X, target, repeats=3)
    guess = model.predict(X)
    assert result.scores["RMSE"][1.0] == pytest.approx(np.sqrt(((guess - target) ** 2).mean()))
    assert result.scores["R2"][1.0] == pytest.approx(r2_score(target, guess))
    assert result.scores["RMSE"][0.1] > result.scores["RMSE"][1.0]


def test_shares_of_a_whole_are_values_not_classes():
    class Shares:
        def predict(self, X):
            first = 0.5 + 0.1 * np.tanh(np.nansum(X, axis=1))
            return np.stack([first, 1 - first], axis=1)

    X = rows(30)
    y = Shares().predict(X)
    result = stress(Shares(), X, y, shares=(1.0, 0.5), repeats=3)
    assert result.facts["task"] == "regression"
    assert result.scores["RMSE"][1.0] == 0
    assert stress(lambda x: Shares().predict(x), X).facts["task"] == "classification"


def test_an_own_metric_replaces_the_scores():
    def largest_error(y, prediction):
        return np.abs(y - prediction).max()

    X = rows(30)
    result = stress(zero_filled, X, zero_filled(X), repeats=2, metric=largest_error)
    assert set(result.scores) == {"largest_error"}
    assert result.scores["largest_error"][1.0] == 0


def test_a_function_of_probabilities_is_scored_as_a_classifier():
    X = rows(80)
    y = X[:, 9] > 1

    def chance(X):
        return 1 / (1 + np.exp(-np.nan_to_num(X[:, 9])))

    result = stress(chance, X, y, repeats=2)
    assert result.scores["AUROC"][1.0] == 1
    assert result.scores["AUROC"][0.1] < 0.9


def test_a_score_that_does_not_exist_is_null_in_the_facts(flowers):
    X, y = flowers
    model = HistGradientBoostingClassifier(max_iter=3).fit(X, y)
    only_a = y == "a"
    facts = stress(model, X[only_a], y[only_a], repeats=2).facts
    assert facts["scores"]["AUROC"]["mean"] == [None] * 10
    json.dumps(facts, allow_nan=False)


def test_facts_are_plain_and_complete():
    facts = stress(zero_filled, rows(20), zero_filled(rows(20)), repeats=3).facts
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert facts["model"] == "zero_filled"
    assert len(facts["samples"]) == 3
    assert len(facts["samples"][0]["observed"]) == 3 * 10
    assert facts["samples"][0]["mean_observed"][0] == 10


def test_few_calls_of_bounded_size(monkeypatch):
    sizes = []

    def counted(X):
        sizes.append(len(X))
        return zero_filled(X)

    stress(counted, rows(900), repeats=4, shares=(1, 0.5, 0.2))
    assert sizes == [500, 2000, 2000]
    sizes.clear()
    monkeypatch.setattr("nanwise.stress_test.run.CELLS_PER_CALL", 25 * 10)
    stress(counted, rows(20), repeats=4, shares=(1, 0.5))
    assert sizes == [20] * 5


def test_splitting_calls_changes_nothing(monkeypatch):
    X = rows(20)
    whole = stress(zero_filled, X, repeats=4)
    monkeypatch.setattr("nanwise.stress_test.run.CELLS_PER_CALL", 1)
    assert stress(zero_filled, X, repeats=4).facts == whole.facts


def test_rows_are_limited_and_the_input_is_left_alone():
    X = rows(60)
    X[3] = np.nan
    before = X.copy()
    facts = stress(zero_filled, X, repeats=2, rows=10).facts
    assert (facts["rows"], facts["rows_total"], facts["rows_empty"]) == (10, 60, 1)
    np.testing.assert_array_equal(X, before)


def test_same_seed_same_result_and_the_global_generator_is_untouched():
    np.random.seed(0)
    state = np.random.get_state()[1].copy()
    runs = [stress(zero_filled, rows(30), repeats=2, random_state=s).slope for s in (5, 5, 6)]
    assert runs[0] == runs[1] != runs[2]
    assert (np.random.get_state()[1] == state).all()


def test_a_mixed_frame_keeps_names_and_kinds():
    frame = pd.DataFrame(
        {
            "n": [1.0, 2.0, np.nan, 4.0],
            "c": pd.Categorical(["u", "v", "u", None]),
            "i": [1, 2, 3, 4],
        }
    )
    seen = []

    def model(X):
        seen.append(X)
        return X["n"].fillna(0).to_numpy() + (X["c"] == "u")

    stress(model, frame, repeats=2)
    assert all(list(X.columns) == ["n", "c", "i"] for X in seen)
    assert all(X["c"].dtype == frame["c"].dtype for X in seen)


@pytest.mark.parametrize("mechanism", ["mar", "mnar"])
def test_other_mechanisms_hide_by_ampute_and_reveal_nothing(mechanism):
    X = rows(200)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    seen = []

    def model(X):
        seen.append(np.isnan(X))
        return np.nansum(X, axis=1)

    result = stress(model, X, mechanism=mechanism, repeats=4, shares=(1, 0.7, 0.4, 0))
    untouched = 0.1 if mechanism == "mar" else 0.0  # MAR leaves the columns alone that drive it
    law = [1, *(s + untouched * (1 - s) for s in (0.7, 0.4)), 0]
    assert result.facts["kept"] == pytest.approx(law, abs=0.03)
    assert all((gaps.reshape(-1, *X.shape) | ~np.isnan(X)).all() for gaps in seen)


def test_a_model_that_cannot_take_gaps_is_named_with_what_to_do():
    X = rows(30)
    model = LogisticRegression().fit(X, X[:, 0] > 0)
    with pytest.raises(DataError, match=r"LogisticRegression cannot predict.*put an imputer"):
        stress(model, X)


def test_a_model_that_answers_gaps_with_nan_is_named():
    with pytest.raises(DataError, match="predictions are not finite"):
        stress(lambda X: X.sum(axis=1), rows(10))


def test_an_error_that_has_nothing_to_do_with_gaps_stays_itself():
    model = LinearRegression().fit(rows(20)[:, :4], np.arange(20))
    with pytest.raises(ValueError, match="4 features"):
        stress(model, rows(20))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shares": (1.2, 0.5)}, "between 0 and 1"),
        ({"shares": (0.5,)}, "at least two"),
        ({"repeats": 0}, "repeats must be at least 1"),
        ({"rows": 0}, "rows must be at least 1"),
        ({"y": [1, 2]}, "y has 2 rows, X has 10"),
        ({"y": [1.0] * 9 + [np.nan]}, "first in row 9"),
        ({"X": np.full((3, 2), np.nan)}, "nothing to hide"),
        ({"output": "z"}, "output must be one of"),
        ({"model": lambda X: np.ones(3)}, r"got shape \(3, 1\)"),
        ({"model": lambda X: ["a"] * len(X)}, "are not numbers"),
    ],
)
def test_bad_arguments_get_one_clear_line(change, message):
    arguments = {"model": zero_filled, "X": rows(10), **change}
    with pytest.raises(ValueError, match=message):
        stress(**arguments)


def test_what_is_no_model_is_refused():
    with pytest.raises(TypeError, match="int has neither predict_proba nor predict"):
        stress(3, rows(10))


def test_unknown_labels_in_the_target_are_named(flowers):
    X, y = flowers
    model = DummyClassifier().fit(X, y)
    with pytest.raises(DataError, match="does not know: q"):
        stress(model, X, np.where(y == "a", "q", y), repeats=1)


def test_our_own_models_are_named_with_their_treatment():
    class NanThing:
        gaps = "zero"

        def predict(self, X):
            return np.nansum(X, axis=1)

    assert stress(NanThing(), rows(5), repeats=1).facts["model"] == "NanThing('zero')"


def test_repr_says_what_matters():
    X = rows(20)
    text = repr(stress(zero_filled, X, zero_filled(X), repeats=2))
    assert "zero_filled" in text
    assert "sparsity bias" in text
    assert "RMSE" in text
    assert len(text.splitlines()) == 5


def test_plot_draws_every_panel(tmp_path):
    X = rows(20)
    result = stress(zero_filled, X, zero_filled(X), repeats=2)
    figure = result.plot()
    assert [a.get_title() for a in figure.axes] == ["Single rows", "All rows", "Score"]
    assert len(figure.axes[0].lines) == 3
    figure.savefig(tmp_path / "plot.png")
    assert len(stress(zero_filled, X, repeats=2).plot().axes) == 2


def test_the_result_cannot_be_changed():
    result = stress(constant, rows(5), repeats=1)
    assert isinstance(result, StressResult)
    with pytest.raises(AttributeError):
        result.slope = 3
