"""The door to `adapters.metrics`, in a checkout; an installed package has here what is behind it."""

from pullstream.checkout import beside

beside("adapters")

from adapters.metrics import *  # noqa: E402, F403
