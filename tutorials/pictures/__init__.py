"""The pictures of runs in the chapters, each with its piece. `python -m tutorials.pictures` draws them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import attrs

FOLDER: Final = Path(__file__).parent


@attrs.frozen
class Picture:
    """A picture of a run in a piece of a chapter: the edges of a module, or the graph at a second."""

    chapter: str
    piece: str
    title: str
    run: int = 0
    """The number of the run in the piece, from 0."""
    edges_of: str | None = None
    notes: tuple[str, ...] = ()
    """Kinds of events that are drawn in addition to messages on the edges."""
    at: float | None = None
    """The second, by the clock of the run, at which the graph is drawn with its frontiers."""
    of_tracker: bool = False
    """Whether it shows a tracker of the piece, whose moves are the seconds."""

    @property
    def file(self) -> Path:
        """The file of the picture."""
        what = self.edges_of or f"at-{self.at:g}"
        return FOLDER / f"{self.chapter}-{self.piece}-{what}.svg"


OPEN: Final = ("acquired", "released")
"""The kinds of events between which a module is open."""

PICTURES: Final = (
    Picture("what_a_pull_is", "asking", "Two asks with a value, and two with none", edges_of="consumer"),
    Picture(
        "what_a_pull_is", "aborting", "An abort is confirmed when the table is closed", notes=OPEN, edges_of="consumer"
    ),
    Picture("what_a_pull_is", "through_a_module", "A module in between passes the abort on", edges_of="it"),
    Picture("writing_your_own", "as_a_kernel", "The edges below and above Lookup", notes=OPEN, edges_of="Lookup"),
    Picture("a_sink", "in_the_background", "After 3.5 seconds: rice is being saved, and is not counted", at=3.5),
    Picture("a_sink", "holding", "After 3.5 seconds: day 0 is held, and so is day 1", at=3.5),
    Picture("two_inputs", "sources", "After 3.5 seconds: the left has answered, the right has not", run=1, at=3.5),
    Picture("when_is_it_done", "completions", "After 15.5 hours: where the sales of day 0 are", at=15.5),
    Picture("when_is_it_done", "explaining", "What keeps day 0 from being complete, after 15.5 hours", at=15.5),
    Picture("when_is_it_done", "notified", "After 33.5 hours: which modules may still answer at day 1", run=1, at=33.5),
    Picture(
        "by_query_and_tracker",
        "by_tracker",
        "After the third move: 0 goes round, and the source may send from 1 on",
        at=3,
        of_tracker=True,
    ),
    Picture("the_model", "traces", "The edges below and above count, as recorded in the trace", edges_of="count"),
    Picture("when_is_it_done", "going_round", "After 1.8 seconds: round 1 is in progress, round 2 may follow", at=1.8),
    Picture(
        "dataflows_in_dataflows", "streams_in_streams", "After 5 seconds: 0 is held, and nothing of 1 is left", at=5
    ),
)


def pictures_of(chapter: str, piece: str) -> Sequence[Picture]:
    """The pictures of a piece of a chapter, a module by name."""
    name = chapter.rpartition(".")[2]
    return [picture for picture in PICTURES if (picture.chapter, picture.piece) == (name, piece)]
