"""The cards of the rules match the runs of their scenes."""

import re
import runpy
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from pullstream.checker import RULES
from tutorials.rules.__main__ import FOLDER, cards


def test_the_cards_match_their_runs():
    drawn = cards()
    assert set(drawn) == {path.name for path in FOLDER.glob("*.svg")} | {"README.md"}
    stale = [name for name, content in drawn.items() if (FOLDER / name).read_text(encoding="utf-8") != content]
    assert stale == [], "redraw them with python -m tutorials.rules"


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_has_its_cards(rule):
    """A kept and a broken card: each has a description and fits a small screen; broken is not shown only by colour."""
    for how in ("kept", "broken"):
        picture = ET.parse(FOLDER / f"{rule}-{how}.svg").getroot()
        texts = ["".join(element.itertext()) for element in picture.iter() if element.tag.endswith("}text")]
        described = next(element.text for element in picture if element.tag.endswith("}desc"))
        assert float(picture.get("width")) <= 360
        assert any(text.startswith(f"{rule}: ") for text in texts) == (how == "broken")
        assert re.search(r"ask\w*1", described)
    assert f"## {rule}\n" in (FOLDER / "README.md").read_text()


@pytest.mark.filterwarnings("ignore:.*found in sys.modules")
@pytest.mark.parametrize("pictures", ["rules", "pictures"])
def test_help_draws_nothing(pictures, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["", "--help"])
    monkeypatch.setattr(Path, "write_text", None)
    with pytest.raises(SystemExit):
        runpy.run_module(f"tutorials.{pictures}", run_name="__main__")
    assert f"usage: python -m tutorials.{pictures} [-h]" in capsys.readouterr().out
