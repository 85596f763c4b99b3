"""Functions that compare errors with the page of Spark errors."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "tutorials" / "spark_errors.md"

_CELL = re.compile(r"^(`+) ?(.*?) ?\1$", re.DOTALL)


def rows():
    """Return the error's name and message for each cause on the page."""
    table = {}
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| ") and not line.startswith(("| ---", "| error")):
            error, text, cause, _ = cells
            table[cause] = (error.strip("`"), _CELL.match(text)[2])
    return table


def check_row(cause, name, message):
    """Fail unless the page has this error and message for a cause; … stands for any text."""
    error, text = rows()[cause]
    assert name == error.rpartition(".")[2]
    pattern = ".*".join(re.escape(part.strip()) for part in text.split("…"))
    assert re.fullmatch(rf"{pattern}\s*", message, re.DOTALL), f"{message}\nis not\n{text}"


def compare(cause, function):
    """Fail unless the function raises the error of a cause; return the error."""
    try:
        function()
    except Exception as exc:
        check_row(cause, type(exc).__name__, str(exc))
        return exc
    pytest.fail(f"nothing was raised: {cause}")
