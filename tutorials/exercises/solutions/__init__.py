"""Answers that are right, one for each exercise."""
