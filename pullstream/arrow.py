"""The public module of `adapters.arrow` in a checkout. In an installed package, its content is here."""

from pullstream.checkout import beside

beside("adapters")

from adapters.arrow import *  # noqa: E402, F403
from adapters.arrow import __all__, __dir__  # noqa: E402, F401
