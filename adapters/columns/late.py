"""Late rows: an error, dropped, or passed to a sink of their own; they stay in columns."""

from typing import Annotated, Any, Literal

from pullstream import Sink
from pullstream.authoring import LateOption

from ..arrow import ArrowRows


class LateRows(ArrowRows):
    """Late rows on their way to the sink for them."""


def _plain(rows: LateRows) -> ArrowRows:
    return ArrowRows(rows.batch, rows.form)


Late = Annotated[Literal["error", "drop"] | Sink[Any, Any], LateOption(LateRows, _plain)]
"""The option `late=`."""
