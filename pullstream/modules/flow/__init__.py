"""How many values pass, and when."""
