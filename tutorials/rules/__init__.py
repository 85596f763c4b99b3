"""The twelve rules as cards: each kept by one run, and broken by another."""
