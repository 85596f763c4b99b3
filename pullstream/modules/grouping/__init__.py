"""Modules that put values together or take streams apart: by count, by content or by key."""
