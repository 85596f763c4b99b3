"""What stands in the site, in order: a page's title, the file that it is made of, and its place."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import attrs

from tutorials.contents import CHAPTERS, Chapter
from tutorials.site.reference import PACKAGES

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = Path(__file__).parent / "pages"


@attrs.frozen
class Page:
    """A page: its title in the list of pages, its place in the site, and what it is made of."""

    title: str
    place: str
    source: Path | None = None
    """A Markdown file."""
    chapter: Chapter | None = None
    package: str | None = None
    """A package whose exported names it describes."""


def _written(title: str, place: str) -> Page:
    """A page that is written for the site."""
    return Page(title, place, PAGES / place)


def place_of(chapter: Chapter) -> str:
    """A chapter's place: a module may tell several."""
    first = next(other for other in CHAPTERS if other.name == chapter.name)
    return f"learn/{chapter.name if chapter is first else f'{chapter.name}_{chapter.number}'}.md"


def _learn() -> list[Page]:
    return [Page(f"{chapter.number}. {chapter.title}", place_of(chapter), chapter=chapter) for chapter in CHAPTERS]


SECTIONS: Final[dict[str, Sequence[Page]]] = {
    "Start": [
        Page("What it is", "index.md", ROOT / "README.md"),
    ],
    "Learn": _learn(),
    "The protocol": [
        Page("The twelve rules", "rules.md", ROOT / "tutorials/rules/README.md"),
    ],
    "Reference": [
        Page("Every name", "reference/index.md", ROOT / "tutorials/reference.md"),
        *(Page(package, f"reference/{package}.md", package=package) for package in PACKAGES),
    ],
    "About": [
        Page("Architecture", "architecture.md", ROOT / "tutorials/architecture.md"),
        Page("Literature", "literature.md", ROOT / "tutorials/literature.md"),
        Page("What goes wrong with Spark", "guides/spark_errors.md", ROOT / "tutorials/spark_errors.md"),
        Page("Changes", "changes.md", ROOT / "CHANGELOG.md"),
        Page("Working on it", "contributing.md", ROOT / "CONTRIBUTING.md"),
        Page("Security", "security.md", ROOT / "SECURITY.md"),
    ],
}
"""The pages, by section."""

ALL: Final[Sequence[Page]] = [page for section in SECTIONS.values() for page in section]
