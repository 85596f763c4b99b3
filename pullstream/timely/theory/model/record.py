"""`timely.theory.model.record`, re-exported for a checkout; an installed package has the module itself here."""

from timely.theory.model.record import *  # noqa: F403
