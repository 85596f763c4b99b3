"""Modules that a program steers while they run."""
