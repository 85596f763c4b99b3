"""The door to `adapters.spark`, in a checkout; an installed package has here what is behind it."""

from pullstream.checkout import beside as _beside
from pullstream.late import publish

_beside("adapters")

from adapters.spark import *  # noqa: E402, F403
from adapters.spark import __doc__  # noqa: E402, F401

publish(__name__)
