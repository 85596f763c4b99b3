"""The door to `timely.summary`, in a checkout; an installed package has here what is behind it."""

from timely.summary import *  # noqa: F403
