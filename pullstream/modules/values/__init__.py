"""Modules that apply a function to every value or batch."""
