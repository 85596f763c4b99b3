"""Streams that run in instalments: each one begins with the state that the one before it has left."""
