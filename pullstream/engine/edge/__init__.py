"""The edge between two modules: its state, its requests, and the machine that serves them."""
