"""The pictures of the chapters are what their own runs come to."""

import pytest

from tutorials.contents import CHAPTERS
from tutorials.lesson import pieces, tell
from tutorials.pictures import FOLDER, PICTURES
from tutorials.pictures.draw import drawn


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.file.stem)
def test_a_picture_is_that_of_its_run(picture):
    text = picture.file.read_text(encoding="utf-8")
    assert drawn(picture) == text, "python -m tutorials.pictures draws it anew"


def test_every_picture_is_one_of_a_piece():
    assert {path.name for path in FOLDER.glob("*.svg")} == {picture.file.name for picture in PICTURES}
    for picture in PICTURES:
        (chapter, *_) = [chapter for chapter in CHAPTERS if chapter.name == picture.chapter]
        assert picture.piece in {piece.__name__ for piece in pieces(chapter.module)}


def test_a_piece_says_where_its_picture_is(capsys):
    tell("tutorials.a_sink", [3])
    assert "a_sink-holding-at-3.5.svg" in capsys.readouterr().out.splitlines()[-1]
