"""What a file of an author's raises when it is read, or makes a module: told with its line, whatever it is."""

import pytest

from pullstream.__main__ import main
from pullstream.conformance import Subject, conformance
from pullstream.conformance.cells import Cell
from pullstream.conformance.trial import Trial
from pullstream.errors import PullstreamError

OWN = """
import pullstream as ps

class Wrong(Exception):
    def __init__(self, one, two):
        super().__init__("a message of one")

def strange():
    raise Wrong(1, 2)

def divided():
    return ps.take(1 / 0)


def missing():
    return ps.take({}["name"])
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1 / 0", "'own.py' cannot be imported: it raises ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "it raises SystemExit: 3, at own.py:1"),
        ("x = 3\nunknown", "NameError: name 'unknown' is not defined, at own.py:2"),
        (f"{OWN}made = strange", "Wrong: a message of one\n  raised at own.py:9"),
        (f"{OWN}made = missing", "check: KeyError: 'name'\n  raised at own.py:16"),
        (f"{OWN}made = divided", "ZeroDivisionError: division by zero\n  raised at own.py:12"),
    ],
)
def test_what_a_file_raises_is_told_with_its_line(tmp_path, monkeypatch, capsys, text, told):
    """It cannot be tested, and that is no fault of the kit's."""
    (tmp_path / "own.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert main(["check", "own.py:made"]) == 2
    assert told in capsys.readouterr().err


def test_what_is_raised_comes_out_of_the_other_process_with_its_line():
    class Local(Exception):
        pass

    def local():
        raise Local("here")

    def known():
        raise OSError("here")

    with pytest.raises(PullstreamError, match="Local: here") as caught:
        conformance(local)
    assert "test_conformance_of_files.py:" in caught.value.__notes__[0]
    with pytest.raises(OSError, match="here") as caught:
        conformance(known)
    assert "test_conformance_of_files.py:" in caught.value.__notes__[0]


async def test_cells_that_are_run_to_tell_what_was_found_show_that_something_happens():
    """Their time counts each by itself, as that of other cells does; they are no cells more."""
    import pullstream as ps

    @ps.transformer
    async def loud(upstream, ctx):
        async for batch in ctx.batches(upstream):
            yield ps.Batch(batch.time, [*batch.values, *batch.values])

    trial = Trial(Subject("loud", loud))
    found = await trial.run(Cell(values=5, limit=2, timed=True))
    assert found is not None
    tried = []
    simplest = await trial.simplest(found, tried.append)
    assert simplest.cell in tried or simplest == found
    assert tried
