"""Several streams, or several readers of one."""
