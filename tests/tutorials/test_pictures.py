"""The pictures of the chapters match their runs."""

import pytest

from tutorials.contents import CHAPTERS
from tutorials.lesson import pieces, tell
from tutorials.pictures import FOLDER, PICTURES
from tutorials.pictures.draw import drawn


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.file.stem)
def test_a_picture_matches_its_run(picture):
    text = picture.file.read_text(encoding="utf-8")
    assert drawn(picture) == text, "redraw it with python -m tutorials.pictures"


def test_every_picture_has_a_piece():
    assert {path.name for path in FOLDER.glob("*.svg")} == {picture.file.name for picture in PICTURES}
    for picture in PICTURES:
        (chapter, *_) = [chapter for chapter in CHAPTERS if chapter.name == picture.chapter]
        assert picture.piece in {piece.__name__ for piece in pieces(chapter.module)}


def test_a_piece_names_its_picture(capsys):
    tell("tutorials.a_sink", [3])
    assert "a_sink-holding-at-3.5.svg" in capsys.readouterr().out.splitlines()[-1]
