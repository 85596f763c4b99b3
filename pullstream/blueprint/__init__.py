"""Blueprints: immutable descriptions of streams. Nothing here runs or depends on code that runs."""

from pullstream.blueprint.advice import advice as advice, nearest as nearest, table_advice as table_advice
from pullstream.blueprint.checks import (
    READS as READS,
    Count as Count,
    Each as Each,
    Instance as Instance,
    Key as Key,
    Natural as Natural,
    OneOf as OneOf,
    Positive as Positive,
    Seconds as Seconds,
    Sync as Sync,
    TimeOf as TimeOf,
)
from pullstream.blueprint.emits import Emits as Emits
from pullstream.blueprint.factory import (
    Call as Call,
    Example as Example,
    bound as bound,
    checked as checked,
    together as together,
)
from pullstream.blueprint.modules import (
    Blueprint as Blueprint,
    Module as Module,
    OfOneRun as OfOneRun,
    OneShot as OneShot,
    Sink as Sink,
    Source as Source,
    Transformer as Transformer,
    give_back as give_back,
    refuse_sharing as refuse_sharing,
)
from pullstream.blueprint.shown import shortened as shortened, shown_callable as shown_callable
from pullstream.blueprint.site import Site as Site
