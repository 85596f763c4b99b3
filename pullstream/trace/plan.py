"""The graph of a pipeline that is not running."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, cast

from typing_extensions import override

from pullstream.blueprint import Blueprint, Module, OfOneRun, Sink
from pullstream.engine.assembly import Assembly
from pullstream.engine.edge.kernel import Kernel, traits_of
from pullstream.engine.sidecar.location import Location
from pullstream.protocol import DONE, Batch, Done
from pullstream.resuming.keeping import idle_run
from pullstream.timely import ENTER, FEEDBACK, IDENTITY, LEAVE, Delay, LoopSummary, Summary
from pullstream.trace.file import Trace
from pullstream.trace.graph import graph_of, rows_of
from pullstream.trace.times import Json

UPSTREAM: Final = "upstream"
"""The name of the stand-in for the modules upstream of a part."""


def planned(blueprint: Blueprint) -> Trace:
    """Return the trace of a run that has not begun: its modules, for `draw_graph` and `mermaid`, and no events.

    The modules are made, as in a run; nothing is acquired, called or asked for. Arguments that belong to one run, such
    as handles and iterators, are not touched. A source, transformer or sink alone is drawn without neighbours. `draw`
    shows an example.
    """
    return Trace(_header(blueprint), [])


def _header(blueprint: Blueprint) -> dict[str, Json]:
    run = idle_run()
    planning = Planning(run.scope)
    above = planning.install(StandIn(), [UPSTREAM], None, []) if _is_fed(blueprint) else None
    if blueprint.kind in {"sink", "pipeline"}:
        planning.sink(blueprint, above)
    else:
        planning.stream(blueprint.modules, above)
    header, _ = graph_of(run.scope.sidecar, [], limit=1)
    header["plan"]["initial"] = []
    for module, location in zip(header["modules"], run.scope.sidecar.locations, strict=True):
        module["notes"] = _times(location)
        if _begins(location):
            whose = "'" if module["name"].endswith("s") else "'s"
            module["begins"] = f"{whose} times{', nested' if location.traits.lasting else ''}"
    for node, found in planning.inside:
        _nest(header, found, node)
    return header


def _is_fed(blueprint: Blueprint) -> bool:
    """Whether a blueprint needs modules upstream of it."""
    return blueprint.kind not in {"source", "pipeline"}


def _nest(header: dict[str, Json], stream: Blueprint, node: int) -> None:
    """Put the graph of a stream into a frame beside the module that opens it at run time."""
    inner, frames = _header(stream), len(header["frames"]) + 1
    # The module itself takes the place of the stand-in for its upstream.
    left_out = _is_fed(stream)
    modules, places = (1 + max(one["id"] for one in header[part]) - left_out for part in ("modules", "places"))
    shown = inner["modules"][left_out:]
    ids = {module["id"] for module in shown}
    ports = {place["id"] for place in inner["places"] if place["module"] in ids}
    header["modules"] += [{**module, "id": module["id"] + modules} for module in shown]
    header["places"] += [
        {**place, "id": place["id"] + places, "module": place["module"] + modules}
        for place in inner["places"]
        if place["id"] in ports
    ]
    header["plan"]["steps"] += [
        [start + places, end + places, words] for start, end, words in inner["plan"]["steps"] if start in ports
    ]
    (name,) = (module["name"] for module in header["modules"] if module["id"] == node)
    within = next((number for number, frame in enumerate(header["frames"]) if node in frame["modules"]), None)
    framed = {node for frame in inner["frames"] for node in frame["modules"]}
    alone = [node + modules for node in sorted(ids - framed)]
    header["frames"].append({"title": f"opened by {name}", "modules": alone, "beside": node, "within": within})
    for frame in inner["frames"]:
        beside, around = frame["beside"], frame["within"]
        header["frames"].append(
            {
                "title": frame["title"],
                "modules": [node + modules for node in frame["modules"]],
                "beside": None if beside is None else beside + modules,
                "within": frames - 1 if around is None else frames + around,
            }
        )


class Planning(Assembly):
    """Assembles a blueprint for inspection."""

    def __init__(self, scope: Any) -> None:
        super().__init__(scope)
        self.inside: list[tuple[int, Blueprint]] = []
        """The streams that modules open at run time, each with its module's node."""

    @override
    def made(self, module: Module) -> Any:
        given = any(isinstance(argument, OfOneRun) for argument in _arguments(module))
        return StandIn() if given else module.made()

    @override
    def place(self, kernel: Kernel[Any], modules: Sequence[Module], upstream: Kernel[Any] | None) -> Kernel[Any]:
        placed = super().place(kernel, modules, upstream)
        beside = [source.modules for source in traits_of(kernel).sources]
        self.inside += [
            (placed.location.node, found)
            for module in modules
            for found in _given(module)
            if found.modules not in beside
        ]
        return placed


class StandIn(Kernel[Any]):
    """A stand-in for a module that belongs to one run."""

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        return DONE

    async def __call__(self, *_: object) -> None:
        """Do nothing, as the body of a sink."""


def _arguments(module: Module) -> tuple[object, ...]:
    return (*module.args, *(option for _, option in module.options))


def _given(module: Module) -> Iterator[Blueprint]:
    """Yield the streams that a module was given, alone or in sequences, to open at run time."""
    for argument in _arguments(module):
        for found in cast("tuple[object, ...]", argument) if isinstance(argument, tuple) else (argument,):
            # A sink, such as on_error=, exists from the start and has its own box.
            if isinstance(found, Blueprint) and not isinstance(found, Sink):
                yield found


def _times(location: Location) -> list[str]:
    """Describe the summaries of a module that change times."""
    rows = [row for row in rows_of(location) if row != [IDENTITY]]
    found = {_told(one) for row in rows for one in row if one != IDENTITY}
    if _is_own(rows):
        # Nested times still depend on the outer time, as long as that is not complete.
        found.add("times: nested" if location.traits.lasting else "times: of its own")
    return sorted(found)


def _told(summary: Summary) -> str:
    loops = {ENTER: "into loop", LEAVE: "out of loop", FEEDBACK: "next round"}
    if isinstance(summary, LoopSummary):
        return f"times: {loops.get(summary, 'of rounds')}"
    if isinstance(summary, Delay):
        return f"times: later by {summary.step}"
    return "times: converted" if summary.converts else "times: later"


def _begins(location: Location) -> bool:
    """Whether another time domain begins at the output of a module."""
    rows = rows_of(location)
    return _is_own(rows) or (bool(rows) and all(any(one.converts for one in row) for row in rows))


def _is_own(rows: Sequence[Sequence[Summary]]) -> bool:
    """Whether the times at which a module answers do not depend on the times it receives."""
    return bool(rows) and not any(rows)
