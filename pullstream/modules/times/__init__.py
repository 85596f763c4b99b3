"""Modules that give times, change them, or keep something until a time is complete."""
