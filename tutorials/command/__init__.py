"""The command `python -m pullstream learn`: a learner's folder of answers, and the output about them."""
