"""The door to `adapters.arrow`, in a checkout; an installed package has here what is behind it."""

from pullstream.checkout import beside

beside("adapters")

from adapters.arrow import *  # noqa: E402, F403
