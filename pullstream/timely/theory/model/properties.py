"""`timely.theory.model.properties`, re-exported for a checkout; an installed package has the module itself here."""

from timely.theory.model.properties import *  # noqa: F403
