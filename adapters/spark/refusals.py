"""In whose name a DataFrame, or what is said about it, is refused."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from pullstream.blueprint import Site
from pullstream.errors import CompositionError

_SPEAKER: ContextVar[str | None] = ContextVar("the module that the user called", default=None)


def refused(module: str, what: str) -> CompositionError:
    """The error of `module` or, where that is a part of another, of the one that the user called."""
    return CompositionError(f"{_SPEAKER.get() or module}() at {Site.here()} {what}")


@contextmanager
def in_the_name_of(module: str) -> Generator[None]:
    """Have the parts of which `module` is made refuse in its name."""
    token = _SPEAKER.set(module)
    try:
        yield
    finally:
        _SPEAKER.reset(token)
