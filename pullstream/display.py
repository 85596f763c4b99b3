"""The door to `adapters.display`, in a checkout; an installed package has here what is behind it."""

from pullstream.checkout import beside

beside("adapters")

from adapters.display import *  # noqa: E402, F403
