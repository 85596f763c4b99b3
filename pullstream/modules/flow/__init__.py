"""Modules that control how many values pass, and when."""
