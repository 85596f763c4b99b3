"""The picture of a pipeline that is not running."""

from pathlib import Path

import attrs

from pullstream.blueprint import Blueprint, Call, advice
from pullstream.trace.drawing.graph import draw_graph, mermaid
from pullstream.trace.plan import planned


@attrs.frozen
class Picture:
    """The drawing of a pipeline: as Mermaid text and as SVG. A notebook displays it."""

    mermaid: str = attrs.field(repr=False)
    svg: str = attrs.field(repr=False)

    def __str__(self) -> str:
        return self.mermaid

    def save(self, path: Path | str) -> Path:
        """Write the picture to a file: SVG if the name ends in `.svg`, Mermaid if it ends in `.mmd`.

        Raises: CompositionError: the name has another ending.
        """
        path = Path(path)
        written = {".svg": self.svg, ".mmd": self.mermaid}.get(path.suffix.lower())
        if written is None:
            raise Call("save").refuse(f"got {str(path)!r}: the name must end in .svg, for SVG, or in .mmd, for Mermaid")
        path.write_text(written, encoding="utf-8")
        return path

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        del include, exclude
        return {"text/plain": self.mermaid, "image/svg+xml": self.svg}


def draw(blueprint: Blueprint) -> Picture:
    """Draw a pipeline, or a part of one, as SVG and as Mermaid, in pure Python.

    >>> import pullstream as ps
    >>> from pullstream import trace
    >>> words = ps.pipe(ps.values("ab"), ps.map(str.upper), ps.filter(str.isalpha), ps.stamp(ord))
    >>> print(trace.draw(ps.pipe(words, ps.delay(1), ps.group_by(str.lower, ps.scan(max)), ps.collect())))
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

    There is a box for each module of a run: fused stages share one, and a loop has boxes for entry, exit and feedback.
    A box says how the module changes times. The edge below a module with times of its own, such as `stamp`, is
    labelled with them; they apply to all edges below, until others begin. A frame surrounds a part with its own kind of
    times (a loop, in which a time has a round, or a loop in it), or a stream that a module opens at run time, beside
    that module. Nothing is acquired, called or asked for: handles and iterators are not touched, and streams made by
    functions are not shown. A notebook displays a pipeline in this way; `draw(pipeline).save("pipeline.svg")` saves it.

    Raises: CompositionError: the argument is neither a module nor a composition of modules.
    """
    if not isinstance(blueprint, Blueprint):  # pyright: ignore[reportUnnecessaryIsInstance]  # a user's argument
        raise Call("draw").refuse(
            f"needs a pipeline or a part of one, but got {blueprint!r}, which is not a "
            f"module{advice('pipe', blueprint, wanted='source')}"
        )
    plan = planned(blueprint)
    return Picture(mermaid(plan), draw_graph(plan))
