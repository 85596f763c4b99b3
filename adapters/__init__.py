"""Bridges to the outside world, each with its own optional dependency."""
