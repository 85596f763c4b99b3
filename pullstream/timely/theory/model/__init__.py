"""The door to `timely.theory.model`, in a checkout; an installed package has here what is behind it."""

from timely.theory.model import *  # noqa: F403
from timely.theory.model import __all__, __dir__, __doc__  # type: ignore[attr-defined]  # noqa: F401
