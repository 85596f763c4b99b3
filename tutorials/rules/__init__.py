"""Cards for the twelve rules: one run keeps the rule, another breaks it."""
