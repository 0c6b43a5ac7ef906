"""Estimators in scikit-learn's sense: from the user's table to a trained network and back."""
