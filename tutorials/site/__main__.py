"""`python -m tutorials.site [FOLDER]`: build the site, by default in build/site; open FOLDER/html/index.html."""

import argparse
import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tutorials.site.contents import ROOT, SECTIONS
from tutorials.site.links import dead_links
from tutorials.site.tree import assemble

HERE = Path(__file__).parent
CONFIGURATION = "zensical.toml"

NEEDS = {
    "zensical": "--group docs",
    "mkdocstrings": "--group docs",
    "rich": "'.[display]'",
}
"""The packages that a build needs, and how to install each; chapters show output of the display."""


def main(arguments: Sequence[str]) -> int:
    """Assemble the pages and build the site with Zensical."""
    parser = argparse.ArgumentParser(prog="python -m tutorials.site", description="Build the documentation's site.")
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        default=ROOT / "build" / "site",
        help="the folder to build in; it is replaced. Open html/index.html (default: build/site in the checkout)",
    )
    folder: Path = parser.parse_args(arguments).folder
    if not ours(folder):
        parser.error(
            f"{folder} exists and is not a site built by this command: name an empty folder, or one that does not exist"
        )
    if missing := [name for name in NEEDS if importlib.util.find_spec(name) is None]:
        install = " ".join(dict.fromkeys(NEEDS[name] for name in missing))
        parser.error(f"the site needs {', '.join(missing)}, which is not installed here: run `pip install {install}`")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        (folder / "pages").mkdir(parents=True)
        assemble(folder / "pages")
        shutil.copy(HERE / "site.css", folder / "pages")
        (folder / CONFIGURATION).write_text(configuration(), encoding="utf-8")
    except BaseException:
        # The next call would refuse a partial site.
        shutil.rmtree(folder, ignore_errors=True)
        raise
    code, warnings = built(folder)
    dead = sorted(dead_links(folder / "html")) if code == 0 else []
    print(*dead, sep="\n", end="\n" if dead else "")
    return code or bool(dead or warnings)


def built(folder: Path) -> tuple[int, list[str]]:
    """Build the site; return the exit code, and the warnings of griffe about docstrings, which Zensical ignores."""
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    warnings: list[str] = []
    process = subprocess.Popen(  # noqa: S603 - no part of it is from outside
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    with process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            if line.startswith("griffe: "):
                warnings.append(line)
    return process.returncode, warnings


def ours(folder: Path) -> bool:
    """Whether a folder may be replaced without losing anything."""
    if not folder.exists():
        return True
    return folder.is_dir() and ((folder / CONFIGURATION).is_file() or not any(folder.iterdir()))


def configuration() -> str:
    """Return the configuration, with the pages in order and the location of the packages."""
    sections = [_table(title, f"[{', '.join(_table(*one) for one in pages)}]") for title, pages in _titles().items()]
    nav = f"nav = [{', '.join(sections)}]"
    written = (HERE / CONFIGURATION).read_text(encoding="utf-8")
    return (
        written.replace("[project]\n", f"[project]\n{nav}\n", 1)
        .replace("inventories = []", f"inventories = []\npaths = [{json.dumps(str(ROOT))}]")
        .replace("extensions = []", f"extensions = [{json.dumps(str(HERE / 'examples.py'))}]")
    )


def _titles() -> dict[str, list[tuple[str, str]]]:
    return {title: [(page.title, json.dumps(page.place)) for page in pages] for title, pages in SECTIONS.items()}


def _table(key: str, value: str) -> str:
    return f"{{{json.dumps(key)} = {value}}}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
