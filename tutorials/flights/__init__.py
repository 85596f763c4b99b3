"""A year of New York flights: one delay table a day, each written when its day is complete.

Run it with ``python -m tutorials.flights``; read ``pipeline.py`` first.
"""
