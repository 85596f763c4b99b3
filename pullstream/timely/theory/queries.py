"""The door to `timely.theory.queries`, in a checkout; an installed package has here what is behind it."""

from timely.theory.queries import *  # noqa: F403
