"""A function for every value, or for every batch."""
