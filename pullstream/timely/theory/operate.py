"""The public module of `timely.theory.operate` in a checkout. In an installed package, its content is here."""

from timely.theory.operate import *  # noqa: F403
