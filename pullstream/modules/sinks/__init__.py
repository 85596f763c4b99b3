"""Sinks: modules that end streams."""
