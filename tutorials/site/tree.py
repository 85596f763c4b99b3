"""Assembly of the pages: a folder of Markdown, made from the files of the repository, with links between the pages."""

import os
import re
import shutil
from pathlib import Path
from typing import Final

from tutorials.contents import CHAPTERS
from tutorials.site.chapters import page_of
from tutorials.site.contents import ALL, ROOT, Page, place_of
from tutorials.site.reference import linked, reference
from tutorials.site.rules import with_code

LINK: Final = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
FENCE: Final = re.compile(r"^(```.*?^```)$", re.DOTALL | re.MULTILINE)

LINKED: Final = {"README.md", "modules.md", "reference.md"}
"""Pages with tables of names, which are linked to the reference."""


class DeadLinkError(Exception):
    """A link leads to a file or a heading that does not exist."""


def prose_of(page: str) -> list[str]:
    """Return the text of a page without its code blocks, in pieces."""
    return FENCE.split(page)[::2]


def places_of(path: Path) -> set[str]:
    """Return the link targets of the headings of a Markdown file."""
    headings = re.findall(r"^#+ (.*)$", "\n".join(prose_of(path.read_text(encoding="utf-8"))), re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}


def assemble(folder: Path) -> None:
    """Write the pages of the site as Markdown into an empty folder.

    Raises:
        DeadLinkError: a link leads to a file or a heading that does not exist.
    """
    for page in ALL:
        target = folder / page.place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_text(page, folder), encoding="utf-8")


def _text(page: Page, folder: Path) -> str:
    if page.chapter is not None:
        for pictures in ("rules", "pictures"):
            _asset(ROOT / "tutorials" / pictures, folder)
        return page_of(page.chapter, "../files/tutorials")
    if page.package is not None:
        return reference(page.package)
    assert page.source is not None
    text = page.source.read_text(encoding="utf-8")
    if page.place == "rules.md":
        text = with_code(text)
    parts = FENCE.split(linked(text) if page.source.name in LINKED else text)
    parts[::2] = [LINK.sub(lambda found: _link(found, page, folder), part) for part in parts[::2]]
    return "".join(parts)


def _link(found: re.Match[str], page: Page, folder: Path) -> str:
    before, target, anchor, after = found.groups(default="")
    if re.match(r"[a-z]+:", target):
        return found[0]
    assert page.source is not None
    path = (page.source.parent / target).resolve()
    if not path.exists():
        raise DeadLinkError(f"{page.source.relative_to(ROOT)} links to {target}, which does not exist")
    if anchor and path.suffix == ".md" and anchor[1:] not in places_of(path):
        raise DeadLinkError(f"{page.source.relative_to(ROOT)} links to {target}{anchor}, which does not exist")
    way = os.path.relpath(_place(path, folder), Path(page.place).parent)
    return f"{before}{way}{anchor}{after}"


def _place(path: Path, folder: Path) -> str:
    """Return the place of a file in the site: its page, its chapter, a picture, or a page with its contents."""
    for page in ALL:
        if page.source == path:
            return page.place
    for chapter in CHAPTERS:
        if path == ROOT / "tutorials" / f"{chapter.name}.py":
            return place_of(chapter)
    if path.suffix in {".svg", ".png"}:
        return _asset(path, folder)
    return _shown(path, folder)


def _asset(path: Path, folder: Path) -> str:
    """Copy a file or a folder of pictures into the site, and return its place."""
    place = f"files/{path.relative_to(ROOT)}"
    if path.is_dir():
        shutil.copytree(path, folder / place, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.py", "*.md", "__*"))
    else:
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder / place)
    return place


def _shown(path: Path, folder: Path) -> str:
    """Write a page with the contents of a file or the list of a folder, and return its place."""
    name = str(path.relative_to(ROOT))
    target = folder / f"source/{name}.md"
    target.parent.mkdir(parents=True, exist_ok=True)
    inside = "\n".join(sorted(found.name for found in path.iterdir())) if path.is_dir() else path.read_text("utf-8")
    language = "python" if path.suffix == ".py" else "text"
    target.write_text(f"# {name}\n\n````{language}\n{inside.rstrip()}\n````\n", encoding="utf-8")
    return f"source/{name}.md"
