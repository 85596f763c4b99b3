"""Modules that a program controls during the run."""
