"""Blueprints: immutable descriptions of streams. Nothing here runs or depends on code that runs."""

from pullstream.blueprint.advice import advice, nearest, table_advice
from pullstream.blueprint.checks import (
    READS,
    Count,
    Each,
    Instance,
    Key,
    Natural,
    OneOf,
    Positive,
    Seconds,
    Sync,
    TimeOf,
)
from pullstream.blueprint.factory import Call, Example, bound, checked, together
from pullstream.blueprint.modules import (
    Blueprint,
    Module,
    OfOneRun,
    OneShot,
    Sink,
    Source,
    Transformer,
    refuse_sharing,
)
from pullstream.blueprint.shown import shortened, shown_callable
from pullstream.blueprint.site import Site

__all__ = [
    "READS",
    "Blueprint",
    "Call",
    "Count",
    "Each",
    "Example",
    "Instance",
    "Key",
    "Module",
    "Natural",
    "OfOneRun",
    "OneOf",
    "OneShot",
    "Positive",
    "Seconds",
    "Sink",
    "Site",
    "Source",
    "Sync",
    "TimeOf",
    "Transformer",
    "advice",
    "bound",
    "checked",
    "nearest",
    "refuse_sharing",
    "shortened",
    "shown_callable",
    "table_advice",
    "together",
]
