"""The door to `timely.theory.model.record`, in a checkout; an installed package has here what is behind it."""

from timely.theory.model.record import *  # noqa: F403
