"""From a stream to a stream."""
