"""The public module of `adapters.columns` in a checkout. In an installed package, its content is here."""

from pullstream.checkout import beside

beside("adapters")

from adapters.columns import *  # noqa: E402, F403
from adapters.columns import __all__, __dir__  # noqa: E402, F401
