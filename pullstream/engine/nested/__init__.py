"""Streams inside a module."""
