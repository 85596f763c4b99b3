"""The command `python -m tutorials`, from a learner's folder of answers to what is printed of them."""
