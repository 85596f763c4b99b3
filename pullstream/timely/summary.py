"""The public module of `timely.summary` in a checkout. In an installed package, its content is here."""

from timely.summary import *  # noqa: F403
