"""The door to `timely.theory.operate`, in a checkout; an installed package has here what is behind it."""

from timely.theory.operate import *  # noqa: F403
