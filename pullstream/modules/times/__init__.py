"""Modules that assign times, change them, or keep values until a time is complete."""
