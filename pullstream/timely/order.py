"""The door to `timely.order`, in a checkout; an installed package has here what is behind it."""

from timely.order import *  # noqa: F403
