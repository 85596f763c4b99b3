"""Chapters to read, exercises to do, and a judge of the answers: `python -m pullstream learn`."""
