"""A partner at an edge: the module above it, or the one below."""

import attrs

from pullstream.blueprint import Site


@attrs.frozen
class Partner:
    """A module at an end of an edge."""

    name: str
    site: Site | None = None
