"""The public module of `adapters.tables` in a checkout. In an installed package, its content is here."""

from pullstream.checkout import beside as _beside
from pullstream.late import publish

_beside("adapters")

from adapters.tables import *  # noqa: E402, F403
from adapters.tables import __doc__  # noqa: E402, F401

publish(__name__)
