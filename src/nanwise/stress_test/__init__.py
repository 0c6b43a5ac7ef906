"""The missingness stress test: facts for any predictor."""

from nanwise.stress_test.result import StressResult
from nanwise.stress_test.run import stress

__all__ = ["StressResult", "stress"]
