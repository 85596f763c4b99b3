"""Folds: per time, per key, and running."""
