"""The command `python -m pullstream learn`: a learner's folder of answers, and what is printed about them."""
