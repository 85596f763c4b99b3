"""The public module of `adapters.spark` in a checkout. In an installed package, its content is here."""

from pullstream.checkout import beside as _beside
from pullstream.late import publish

_beside("adapters")

from adapters.spark import *  # noqa: E402, F403
from adapters.spark import __doc__  # noqa: E402, F401

publish(__name__)
