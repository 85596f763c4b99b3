"""Modules that combine several streams, or share one among several readers."""
