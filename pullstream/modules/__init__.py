"""The ready modules, a folder an idea."""
