"""The public module of `timely.theory.model.record` in a checkout. In an installed package, its content is here."""

from timely.theory.model.record import *  # noqa: F403
