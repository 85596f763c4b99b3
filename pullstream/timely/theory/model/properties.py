"""The door to `timely.theory.model.properties`, in a checkout; an installed package has here what is behind it."""

from timely.theory.model.properties import *  # noqa: F403
