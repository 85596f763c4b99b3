"""Streams that are run in instalments: what is left of one is where the next begins."""
