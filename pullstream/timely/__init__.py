"""The public module of `timely` in a checkout. In an installed package, its content is here."""

from pullstream.checkout import beside

beside("timely")

from timely import *  # noqa: E402, F403
from timely import __all__, __dir__, __doc__  # type: ignore[attr-defined]  # noqa: E402, F401
