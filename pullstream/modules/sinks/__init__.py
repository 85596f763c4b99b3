"""Sinks: the modules at the end of a stream."""
