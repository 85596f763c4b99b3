"""Windows in event time."""
