"""Blueprints: immutable descriptions of streams; nothing here runs, and nothing here needs what runs."""

from pullstream.blueprint.advice import advice, nearest, table_advice
from pullstream.blueprint.checks import (
    callable_argument,
    count_argument,
    seconds_argument,
    source_argument,
    sync_argument,
)
from pullstream.blueprint.modules import Blueprint, Module, OneShot, Sink, Source, Transformer, refuse_sharing
from pullstream.blueprint.shown import shown_callable
from pullstream.blueprint.site import Site

__all__ = [
    "Blueprint",
    "Module",
    "OneShot",
    "Sink",
    "Site",
    "Source",
    "Transformer",
    "advice",
    "callable_argument",
    "count_argument",
    "nearest",
    "refuse_sharing",
    "seconds_argument",
    "shown_callable",
    "source_argument",
    "sync_argument",
    "table_advice",
]
