"""The edge between two modules: its state, its requests, and the kernel that serves them."""
