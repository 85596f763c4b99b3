"""DataFrames as sources."""
