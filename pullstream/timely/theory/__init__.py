"""`timely.theory`, re-exported for a checkout; an installed package has the package itself here."""

from timely.theory import *  # noqa: F403
from timely.theory import __all__, __dir__, __doc__  # type: ignore[attr-defined]  # noqa: F401
