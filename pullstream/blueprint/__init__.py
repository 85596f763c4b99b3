"""Blueprints: immutable descriptions of streams; nothing here runs, and nothing here needs what runs."""

from pullstream.blueprint.advice import advice, nearest, table_advice
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
    "nearest",
    "refuse_sharing",
    "shown_callable",
    "table_advice",
]
