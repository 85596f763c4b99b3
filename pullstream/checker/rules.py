"""The rules of an edge, as cited by errors and documentation, and the error for breaking one."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from pullstream.blueprint import Site
from pullstream.errors import ProtocolError
from pullstream.history.events import Seen

RULES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "R1": "every request is answered exactly once, in the order of the requests",
        "R2": "nothing is produced without an ask; an answer holds at least one value and never more than asked for",
        "R3": "the end is final: after done only done, after a failure the same exception object again",
        "R4": "a lane has one ask outstanding at a time; lanes are answered first come, first served",
        "R5": "a termination may come at any time; outstanding asks are answered before it, and never with a value",
        "R6": "a termination reaches the source once, with its reason, and is confirmed after everything is released",
        "R7": "a module that ends by itself aborts upstream, waits for the confirmation, then answers done",
        "R8": "a module that fails sends the error upstream, waits, then fails downstream with the same object; "
        "a termination is confirmed with done",
        "R9": "a requester sends at most one termination, and asks nothing after it or after a terminal answer",
        "R10": "resources are acquired at the first ask and released once, in every ending",
        "R11": "a batch is in flight from its answer until its lane asks again, or acknowledges it",
        "R12": "no batch comes at a time that is already complete on its edge",
    },
)
"""The rules' sentences, by their numbers."""

SHARING: Final = "sharing"
"""The name of a rule that is not about one edge: an answered batch belongs to no module."""

_SHARED: Final = "a batch that was answered must not be changed, by its producer or by its consumer"


def sentence(rule: str) -> str:
    """Return the sentence of a rule, by its number, or of `SHARING`."""
    return _SHARED if rule == SHARING else RULES[rule]


class Violation(ProtocolError):
    """A broken rule. The message names the rule and the module, and draws the events on the edge until then.

    `rule` is its number ("R5"; or "sharing"), `module` the name of the module that broke it and `site` the line that
    composed it. `events` are the edge's events so far; the last one is the offence.
    """

    def __init__(  # noqa: PLR0917 - made in one place
        self, rule: str, module: str, site: Site | None, what: str, events: Sequence[Seen], diagram: str
    ) -> None:
        where = "" if site is None else f", composed at {site}"
        drawn = "\n".join(f"    {line}" for line in diagram.splitlines())
        super().__init__(f"{rule}: {sentence(rule)}.\nBroken by {module}{where}: {what}. What happened:\n{drawn}")
        self.rule = rule
        self.module = module
        self.site = site
        self.what = what
        self.events = events
        self.diagram = diagram
