"""Correct answers, one for each exercise."""
