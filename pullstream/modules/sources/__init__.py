"""Sources: the modules at the beginning of a stream."""
