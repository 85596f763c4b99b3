"""The public module of `timely.theory.queries` in a checkout. In an installed package, its content is here."""

from timely.theory.queries import *  # noqa: F403
