"""The door to `timely.theory.model`, in a checkout; an installed package has here what is behind it."""

from pullstream.checkout import beside

beside("timely")

from timely.theory.model import *  # noqa: E402, F403
from timely.theory.model import __all__, __dir__, __doc__  # type: ignore[attr-defined]  # noqa: E402, F401
