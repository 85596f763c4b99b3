"""The architecture page is true: its files exist, and its picture shows the layers of the imports."""

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parent.parent
LAYERS = runpy.run_path(str(ROOT / "tests" / "test_imports.py"))["LAYERS"]
PAGE = (ROOT / "tutorials" / "architecture.md").read_text()


def test_every_file_exists():
    """Files that the page refers to exist, with the functions that it names."""
    files = set(re.findall(r"`((?:pullstream|timely|adapters)/[\w/]+\.py)`", PAGE))
    places = re.findall(r"`((?:pullstream|timely)/[\w/]+\.py)`, `(\w+)`", PAGE)
    places += [(file, name) for name, file in re.findall(r"`(\w+)` in\s+`((?:pullstream|timely)/[\w/]+\.py)`", PAGE)]

    assert len(files) > 40
    assert [file for file in sorted(files) if not (ROOT / file).is_file()] == []
    assert [(file, name) for file, name in places if f"def {name}(" not in (ROOT / file).read_text()] == []


def test_the_key_classes():
    names = re.findall(r"^\| `(\w+)` \| .* \| `([\w/]+\.py)` \|$", PAGE, re.MULTILINE)

    assert 40 < len(names) <= 60
    assert [name for name, file in names if f"\nclass {name}" not in (ROOT / file).read_text()] == []


def test_every_name_exists():
    """Every name in the text occurs in the code."""
    files = (file for top in ("pullstream", "timely", "adapters") for file in (ROOT / top).rglob("*.py"))
    words = {word for file in files for word in re.findall(r"\w+", file.read_text())}
    named = {name.split(".")[-1] for name in re.findall(r"`([A-Za-z_][\w.]*)`", PAGE)}

    assert sorted(named - words) == []


def test_the_picture_shows_the_layers():
    """From the top down; names in the same layer may have any order."""
    picture = re.search(r"```\n(.*?)```", PAGE, re.DOTALL)[1]
    names = [name for line in picture.splitlines() for name in re.findall(r"(?<=[│ ] )((?:[a-z]+\.)*[a-z]+)  ", line)]
    depth = {name: level for level, layer in enumerate(reversed(LAYERS)) for name in layer}
    shown = [name if name in depth else f"pullstream.{name}" for name in names]

    assert [name for name in shown if name not in depth] == []
    assert [depth[name] for name in shown] == sorted(depth[name] for name in shown)
    assert {depth[name] for name in shown} == set(range(len(LAYERS)))
