"""The ready-made modules, one folder per topic."""
