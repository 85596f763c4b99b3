"""`timely.theory.model`, re-exported for a checkout; an installed package has the package itself here."""

from timely.theory.model import *  # noqa: F403
from timely.theory.model import __all__, __dir__, __doc__  # type: ignore[attr-defined]  # noqa: F401
