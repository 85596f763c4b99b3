"""`timely.order`, re-exported for a checkout; an installed package has the module itself here."""

from timely.order import *  # noqa: F403
