"""The public module of `timely.order` in a checkout. In an installed package, its content is here."""

from timely.order import *  # noqa: F403
