"""The door to `adapters.spark.failures`, in a checkout; an installed package has here what is behind it."""

from pullstream.checkout import beside

beside("adapters")

from adapters.spark.failures import *  # noqa: E402, F403
