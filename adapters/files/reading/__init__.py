"""Reading files: sources of text, bytes, CSV, JSON Lines, Parquet and Arrow IPC."""
