"""The door to `adapters.spark`, in a checkout; an installed package has here what is behind it."""

from pullstream.checkout import beside

beside("adapters")

from adapters.spark import *  # noqa: E402, F403
