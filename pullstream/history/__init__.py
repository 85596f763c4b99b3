"""The history of an edge: what was asked and answered there, kept within bounds and drawn."""
