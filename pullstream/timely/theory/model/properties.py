"""The public module of `timely.theory.model.properties` in a checkout. In an installed package, its content is here."""

from timely.theory.model.properties import *  # noqa: F403
