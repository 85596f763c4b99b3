"""`timely.theory.queries`, re-exported for a checkout; an installed package has the module itself here."""

from timely.theory.queries import *  # noqa: F403
