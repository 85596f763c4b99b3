"""The door to `timely.theory`, in a checkout; an installed package has here what is behind it."""

from timely.theory import *  # noqa: F403
from timely.theory import __all__, __dir__, __doc__  # type: ignore[attr-defined]  # noqa: F401
