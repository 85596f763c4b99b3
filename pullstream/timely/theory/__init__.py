"""The door to `timely.theory`, in a checkout; an installed package has here what is behind it."""

from pullstream.checkout import beside

beside("timely")

from timely.theory import *  # noqa: E402, F403
from timely.theory import __all__, __dir__, __doc__  # type: ignore[attr-defined]  # noqa: E402, F401
