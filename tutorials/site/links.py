"""Dead links of a built site: links to pages, or to places on pages, that do not exist."""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import attrs
from typing_extensions import override


@attrs.define(eq=False)
class _Page(HTMLParser):
    """The links of a page, its link targets, and its unresolved references."""

    links: list[str] = attrs.Factory(list[str])
    places: set[str] = attrs.Factory(set[str])
    unresolved: list[str] = attrs.Factory(list[str])

    def __attrs_pre_init__(self) -> None:
        super().__init__()

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        self.places |= {given[key] for key in ("id", "name") if key in given}
        self.links += [given[key] for key in ("href", "src") if key in given]
        if tag == "autoref":
            self.unresolved.append(given.get("identifier", ""))


def dead_links(site: Path) -> Iterator[str]:
    """Yield a line for each dead link of a site; links to other servers are not checked."""
    pages = {path.resolve(): _read(path) for path in site.rglob("*.html")}
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        yield from (f"{name}: the reference {found} is unresolved" for found in page.unresolved)
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or name.name == "404.html":
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                yield f"{name}: {link} does not exist"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].places:
                yield f"{name}: {link} leads to a place that does not exist on that page"


def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page
