"""The door to `adapters.spark.failures`, in a checkout; an installed package has here what is behind it."""

from adapters.spark.failures import *  # noqa: F403
