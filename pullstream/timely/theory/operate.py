"""`timely.theory.operate`, re-exported for a checkout; an installed package has the module itself here."""

from timely.theory.operate import *  # noqa: F403
