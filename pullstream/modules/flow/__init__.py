"""The flow of values: how many pass, and when."""
