"""Citations resolve: the numbers of sources, and the theorems and definitions in them."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LITERATURE = (ROOT / "tutorials" / "literature.md").read_text(encoding="utf-8")
FILES = [
    *(path for package in ("pullstream", "timely", "tutorials", "adapters") for path in (ROOT / package).rglob("*.py")),
    *(ROOT / "tutorials").glob("*.md"),
    ROOT / "README.md",
]


def named(text: str) -> set[str]:
    """The theorems and the like that a text names, one by one: "Propositions 4, 5, 6" are three."""
    found: set[str] = set()
    for kind, numbers in re.findall(
        r"\b(Theorem|Condition|Proposition|Lemma|Definition)s? ((?:\d+(?:, | and )?)+)", text
    ):
        found |= {f"{kind} {number}" for number in re.findall(r"\d+", numbers)}
    return found


@pytest.mark.parametrize("number", ["000", "001", "002", "003", "004"])
def test_a_source_has_an_entry(number):
    entry = re.search(rf"^\| {number} \| (.*) \|$", LITERATURE, re.MULTILINE)
    assert entry
    assert "*" in entry[1] or "http" in entry[1]


def test_every_citation_has_an_entry():
    cited = set().union(*(named(path.read_text(encoding="utf-8")) for path in FILES))
    assert {"Theorem 1", "Condition 2", "Proposition 8"} <= cited
    assert cited <= named(LITERATURE)


def test_every_rule_has_its_origin():
    table = LITERATURE.partition("## The rules here and in the specification")[2]
    assert set(re.findall(r"\bR\d+\b", table)) >= {f"R{number}" for number in range(1, 13)}
