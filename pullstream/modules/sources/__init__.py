"""Sources: modules that begin streams."""
