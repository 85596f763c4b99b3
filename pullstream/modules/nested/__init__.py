"""Streams inside streams, and streams that go round."""
