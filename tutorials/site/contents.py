"""The pages of the site, in order: their titles, their places, and the files they are made from."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import attrs

from tutorials.contents import CHAPTERS, Chapter
from tutorials.site.reference import PACKAGES, door

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = Path(__file__).parent / "pages"


@attrs.frozen
class Page:
    """A page: its title in the navigation, its place in the site, and its contents."""

    title: str
    place: str
    source: Path | None = None
    """A Markdown file."""
    chapter: Chapter | None = None
    package: str | None = None
    """The package whose exported names the page describes."""


def _measured() -> list[Page]:
    """Return the page of the benchmarks, if they have written one."""
    page = ROOT / "tutorials/speed/README.md"
    return [Page("Figures", "guides/figures.md", page)] if page.exists() else []


def _written(title: str, place: str) -> Page:
    """Return a page that is written for the site."""
    return Page(title, place, PAGES / place)


def place_of(chapter: Chapter) -> str:
    """Return the place of a chapter; a module may contain several chapters."""
    return f"learn/{chapter.name if chapter is chapter.begins else f'{chapter.name}_{chapter.number}'}.md"


def _learn() -> list[Page]:
    return [Page(f"{chapter.number}. {chapter.title}", place_of(chapter), chapter=chapter) for chapter in CHAPTERS]


SECTIONS: Final[dict[str, Sequence[Page]]] = {
    "Start": [
        Page("Overview", "index.md", ROOT / "README.md"),
        _written("Start here", "start.md"),
        _written("Which module do I need?", "which_module.md"),
        _written("All guides and chapters", "more.md"),
    ],
    "Learn": _learn(),
    "Guides": [
        _written("Files", "guides/files.md"),
        _written("Tables", "guides/tables.md"),
        _written("Columns", "guides/columns.md"),
        _written("Spark", "guides/spark.md"),
        Page("Spark errors", "guides/spark_errors.md", ROOT / "tutorials/spark_errors.md"),
        _written("Times, windows, late data", "guides/windows.md"),
        _written("Failures", "guides/failures.md"),
        _written("Resuming", "guides/resuming.md"),
        _written("Writing your own", "guides/own_modules.md"),
        _written("Testing", "guides/testing.md"),
        _written("Many schedules", "guides/shake.md"),
        _written("With other programs", "guides/other_programs.md"),
        _written("Deployment", "guides/deployment.md"),
        _written("Performance", "guides/performance.md"),
        *_measured(),
    ],
    "How it works": [
        Page("The twelve rules", "rules.md", ROOT / "tutorials/rules/README.md"),
        _written("Progress", "progress.md"),
        Page("Architecture", "architecture.md", ROOT / "tutorials/architecture.md"),
        Page("Literature", "literature.md", ROOT / "tutorials/literature.md"),
        _written("Glossary", "glossary.md"),
    ],
    "Coming from": [
        _written("pull-stream", "coming_from/pull_stream.md"),
        _written("timely dataflow", "coming_from/timely.md"),
        _written("Bytewax", "coming_from/bytewax.md"),
        _written("Pathway", "coming_from/pathway.md"),
        _written("RxPY", "coming_from/rxpy.md"),
        _written("aiostream", "coming_from/aiostream.md"),
        _written("Structured Streaming", "coming_from/structured_streaming.md"),
    ],
    "Reference": [
        _written("The modules", "modules.md"),
        Page("Every name", "reference/index.md", ROOT / "tutorials/reference.md"),
        *(Page(door(package), f"reference/{door(package)}.md", package=package) for package in PACKAGES),
    ],
    "About": [
        Page("Changes", "changes.md", ROOT / "CHANGELOG.md"),
        Page("Working on it", "contributing.md", ROOT / "CONTRIBUTING.md"),
        Page("Security", "security.md", ROOT / "SECURITY.md"),
    ],
}
"""The pages, by section."""

ALL: Final[Sequence[Page]] = [page for section in SECTIONS.values() for page in section]
