"""`timely.summary`, re-exported for a checkout; an installed package has the module itself here."""

from timely.summary import *  # noqa: F403
