"""Whole programs: composed of modules, opened, run and read."""
