"""The picture of a pipeline that does not run."""

from pathlib import Path

import attrs

from pullstream.blueprint import Blueprint, Site, advice
from pullstream.errors import CompositionError
from pullstream.trace.drawing.graph import draw_graph, mermaid
from pullstream.trace.plan import planned


@attrs.frozen
class Picture:
    """A pipeline, drawn: as Mermaid, which is text, and as SVG. In a notebook it shows itself."""

    mermaid: str = attrs.field(repr=False)
    svg: str = attrs.field(repr=False)

    def __str__(self) -> str:
        return self.mermaid

    def save(self, path: Path | str) -> Path:
        """Write it to a file, as its name ends: SVG as `.svg`, Mermaid as `.mmd`.

        Raises:
            CompositionError: it ends otherwise.
        """
        path = Path(path)
        written = {".svg": self.svg, ".mmd": self.mermaid}.get(path.suffix.lower())
        if written is None:
            raise CompositionError(
                f"save() at {Site.here()} got {str(path)!r}: a picture is written as SVG, to a name that ends as .svg, "
                f"or as Mermaid, .mmd"
            )
        path.write_text(written, encoding="utf-8")
        return path

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        del include, exclude
        return {"text/plain": self.mermaid, "image/svg+xml": self.svg}


def draw(blueprint: Blueprint) -> Picture:
    """Draw a pipeline, or a part of one: as SVG and as Mermaid, by Python alone.

    >>> import pullstream as ps
    >>> words = ps.pipe(ps.values("ab"), ps.map(str.upper), ps.filter(str.isalpha), ps.stamp(ord))
    >>> print(ps.draw(ps.pipe(words, ps.delay(1), ps.group_by(str.lower, ps.scan(max)), ps.collect())))
    flowchart TD
        m0["values"]
        m1["map -> filter"]
        m2["stamp<br>times: of its own"]
        m3["delay<br>times: later by 1"]
        m4["group_by"]
        m5["collect"]
        subgraph f0["opened by group_by"]
            m6["scan"]
        end
        m4 -.- f0
        m0 --> m1
        m1 --> m2
        m2 -->|"stamp's times"| m3
        m3 --> m4
        m4 --> m5

    There is a box for each module of a run: stages that run as one are one, and a loop has its ways in, out and round.
    In a box stands what becomes of times there. The edge below one that gives other times, such as `stamp`, says whose
    it carries: so do all below, until others begin. Frames are around what has times of its own kind, a loop, where a
    time has a round, and loops in it; and around a stream that a module opens while it runs, beside that module.
    Nothing is acquired, called or asked for: handles and iterators are left for the run, and a stream that a function
    makes is not seen. In a notebook a pipeline shows itself so; `draw(pipeline).save("pipeline.svg")` keeps it.

    Raises:
        CompositionError: it is no module, nor several that `pipe` has put together.
    """
    if not isinstance(blueprint, Blueprint):  # pyright: ignore[reportUnnecessaryIsInstance]  # a user's argument
        raise CompositionError(
            f"draw() at {Site.here()} needs a pipeline or a part of one, and got {blueprint!r}, which is not a "
            f"module{advice('pipe', blueprint, source=True)}"
        )
    plan = planned(blueprint)
    return Picture(mermaid(plan), draw_graph(plan))
