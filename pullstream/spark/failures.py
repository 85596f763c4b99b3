"""The public module of `adapters.spark.failures` in a checkout. In an installed package, its content is here."""

from adapters.spark.failures import *  # noqa: F403
