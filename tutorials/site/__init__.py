"""The documentation site: `python -m tutorials.site` builds it."""
