"""Refusals of DataFrames and their options, in the name of the module that the user called."""

import reprlib
from collections.abc import Sequence

from pullstream import CompositionError
from pullstream.authoring import Site


def refused(module: str, what: str, site: Site | None = None) -> CompositionError:
    """Make the error of a module; `site` is where it was composed, if not at this call."""
    return CompositionError(f"{module}() at {site or Site.here()} {what}")


def distinct(module: str, names: Sequence[str], site: Site | None = None) -> None:
    """Refuse columns that share a name; `site` as in `refused`."""
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        what = f"needs distinct column names, and has several columns named {', '.join(doubled)}"
        raise refused(module, what, site)


def no_frame(wanted: str, value: object) -> str:
    """The refusal of a value that is not a Spark DataFrame; tables are named, not shown."""
    kind = type(value)
    home = kind.__module__.partition(".")[0]
    if home == "builtins":
        return f"needs {wanted}, but got {reprlib.repr(value)} ({kind.__name__})"
    hint = "; session.createDataFrame(frame) converts it" if home in {"pandas", "pyarrow"} else ""
    return f"needs {wanted}, but got a {home}.{kind.__name__}{hint}"
