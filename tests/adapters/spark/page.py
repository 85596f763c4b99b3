"""The page of errors: what it says, and whether something is that."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "tutorials" / "spark_errors.md"

_CELL = re.compile(r"^(`+) ?(.*?) ?\1$", re.DOTALL)


def rows():
    """What happened, by its words, with the error's name and its text."""
    table = {}
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| ") and not line.startswith(("| ---", "| what happened")):
            happened, error, text, _ = cells
            table[happened] = (error.strip("`"), _CELL.match(text)[2])
    return table


def is_told(happened, name, message):
    """Fail unless the page says so of what happened; … stands for anything."""
    error, text = rows()[happened]
    assert name == error.rpartition(".")[2]
    pattern = ".*".join(re.escape(part.strip()) for part in text.split("…"))
    assert re.fullmatch(rf"{pattern}\s*", message, re.DOTALL), f"{message}\nis not\n{text}"
