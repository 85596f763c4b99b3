"""The door to `adapters.files`, in a checkout; an installed package has here what is behind it."""

from pullstream.checkout import beside

beside("adapters")

from adapters.files import *  # noqa: E402, F403
