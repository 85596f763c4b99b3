"""Drawing of the pictures: a piece is run, its runs are traced, and a trace is drawn."""

import io
from contextlib import redirect_stdout
from functools import cache

from pullstream.trace import Trace, draw_edge, draw_graph, traced_runs
from tutorials.lesson import pieces
from tutorials.pictures import PICTURES, Picture
from tutorials.pictures.moves import moves_of


def drawn(picture: Picture) -> str:
    """The picture, as SVG."""
    trace = (_moves if picture.of_tracker else _traces)(picture.chapter, picture.piece)[picture.run]
    if picture.edges_of is not None:
        return draw_edge(trace, picture.edges_of, picture.notes) + "\n"
    # Between two seconds all tasks wait, so the order of earlier steps does not matter.
    step = sum(1 for _, clock, *_ in trace.events if picture.at is None or clock <= picture.at)
    return draw_graph(trace, step, picture.title) + "\n"


def main() -> None:
    """Redraw all pictures."""
    for picture in PICTURES:
        picture.file.write_text(drawn(picture), encoding="utf-8")


@cache
def _moves(chapter: str, name: str) -> list[Trace]:
    """Return the traces of the trackers that a piece creates."""
    with redirect_stdout(io.StringIO()):
        return moves_of(chapter, name)


@cache
def _traces(chapter: str, name: str) -> list[Trace]:
    """Return the traces of the runs that a piece opens."""
    piece = next(piece for piece in pieces(f"tutorials.{chapter}") if piece.__name__ == name)
    with traced_runs() as runs, redirect_stdout(io.StringIO()):
        piece()
    return [Trace.of(run.getvalue().splitlines()) for run in runs]
