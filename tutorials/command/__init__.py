"""The command `python -m pullstream learn`, from a learner's folder of answers to what is printed of them."""
