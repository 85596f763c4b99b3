"""The public module of `timely.theory` in a checkout. In an installed package, its content is here."""

from timely.theory import *  # noqa: F403
from timely.theory import __all__, __dir__, __doc__  # type: ignore[attr-defined]  # noqa: F401
