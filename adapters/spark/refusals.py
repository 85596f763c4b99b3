"""In whose name a DataFrame, or what is said about it, is refused."""

import reprlib
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from pullstream import CompositionError
from pullstream.authoring import Site

_SPEAKER: ContextVar[str | None] = ContextVar("the module that the user called", default=None)


def refused(module: str, what: str, site: Site | None = None) -> CompositionError:
    """The error of `module` or, where that is a part of another, of the one that the user called.

    `site` is where it was composed, if that is not now.
    """
    return CompositionError(f"{_SPEAKER.get() or module}() at {site or Site.here()} {what}")


def distinct(module: str, names: Sequence[str], site: Site | None = None) -> None:
    """Refuse columns of which several have one name; `site` as in `refused`."""
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        what = f"needs every column to have a name of its own, and has several named {', '.join(doubled)}"
        raise refused(module, what, site)


def no_frame(wanted: str, value: object) -> str:
    """The refusal of what is no DataFrame of Spark's; tables are named, and not shown."""
    kind = type(value)
    home = kind.__module__.partition(".")[0]
    if home == "builtins":
        return f"needs {wanted}, and got {reprlib.repr(value)} ({kind.__name__})"
    hint = "; session.createDataFrame(frame) makes one of it" if home in {"pandas", "pyarrow"} else ""
    return f"needs {wanted}, and got a {home}.{kind.__name__}{hint}"


@contextmanager
def in_the_name_of(module: str) -> Generator[None]:
    """Let the parts of which `module` is made refuse in its name."""
    token = _SPEAKER.set(module)
    try:
        yield
    finally:
        _SPEAKER.reset(token)
