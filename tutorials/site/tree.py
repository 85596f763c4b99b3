"""The pages put together: a folder of Markdown whose links lead from page to page, from the files of the repository."""

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
"""Pages of which the tables name what the reference describes."""


class DeadLinkError(Exception):
    """A link of a page to a file that is not there."""


def prose_of(page: str) -> list[str]:
    """A page's text, without its blocks of code."""
    return FENCE.split(page)[::2]


def places_of(path: Path) -> set[str]:
    """What the headings of a Markdown file can be linked by."""
    headings = re.findall(r"^#+ (.*)$", "\n".join(prose_of(path.read_text(encoding="utf-8"))), re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}


def assemble(folder: Path) -> None:
    """Write the pages of the site, as Markdown, into an empty folder.

    Raises:
        DeadLinkError: a link leads to nothing.
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
        raise DeadLinkError(f"{page.source.relative_to(ROOT)} links {target}, which is not there")
    if anchor and path.suffix == ".md" and anchor[1:] not in places_of(path):
        raise DeadLinkError(f"{page.source.relative_to(ROOT)} links {target}{anchor}, and there is no such heading")
    way = os.path.relpath(_place(path, folder), Path(page.place).parent)
    return f"{before}{way}{anchor}{after}"


def _place(path: Path, folder: Path) -> str:
    """The place of a file in the site: its page, its chapter, a picture, or a page that shows what is in it."""
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
    """A file, or a folder of pictures, beside the pages."""
    place = f"files/{path.relative_to(ROOT)}"
    if path.is_dir():
        shutil.copytree(path, folder / place, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.py", "*.md", "__*"))
    else:
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder / place)
    return place


def _shown(path: Path, folder: Path) -> str:
    """A page that shows a file of code, or what is in a folder."""
    name = str(path.relative_to(ROOT))
    target = folder / f"source/{name}.md"
    target.parent.mkdir(parents=True, exist_ok=True)
    inside = "\n".join(sorted(found.name for found in path.iterdir())) if path.is_dir() else path.read_text("utf-8")
    language = "python" if path.suffix == ".py" else "text"
    target.write_text(f"# {name}\n\n````{language}\n{inside.rstrip()}\n````\n", encoding="utf-8")
    return f"source/{name}.md"
