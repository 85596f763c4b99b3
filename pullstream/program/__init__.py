"""Whole programs: composing, opening, running and reading pipelines."""
