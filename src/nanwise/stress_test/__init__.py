"""The missingness stress test: facts for any predictor."""
