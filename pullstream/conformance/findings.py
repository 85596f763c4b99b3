"""Findings beside the rules of an edge, and how to mend each."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pullstream.checker.rules import RULES, SHARING, sentence

BESIDE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "batching": "what comes out depends neither on how many values are asked for at once nor on how they arrive",
        "times": "what is given at a time comes of the values of that time alone",
        "early": "what belongs to a time is done once that is complete at the input, and before it is complete below",
        "holding": "a time is held no longer than something at it is owed",
        "order": "what comes out does not depend on which task ran first",
        "state": "each run begins anew",
        SHARING: sentence(SHARING),
        "hang": "every request is answered",
        "spin": "a module lets others have their turns, and comes to its end",
        "crash": "a module fails with an Exception, and nothing else ends the program",
        "failure": "a module fails because something else did, or it was asked to",
        "vacuous": "what never gave a value was not tested",
    }
)
"""The sentences of what is found beside the rules."""

HINTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "R1": "give each task a lane() of its own, and answer in the order in which you were asked",
        "R2": "answer at most `limit` values, and at least one: keep the rest for the next ask, and where nothing is "
        "left of a batch ask for the next one, or yield nothing",
        "R3": "remember how the stream has ended, and answer that from then on: DONE, or the same exception object",
        "R4": "let each task that asks have a lane() of the reader",
        "R5": "let what is under way be cancelled: no shield, lock or `except` around it that keeps an ending out",
        "R6": "let every ending pass: raise what was raised to you, tell each of your inputs, and wait until it has "
        "confirmed",
        "R7": "abort upstream, and wait for it, before you say that you are done",
        "R8": "let what your own code raises out, after the values before it were answered: yield those first, or keep "
        "the failure for the next ask",
        "R9": "ask nothing after DONE, a failure or a cancellation; to cancel an ask is to abort the stream",
        "R10": "open what you need at the first ask (in `acquire`, or at the top of the generator), and close it in "
        "every ending: with `with`, `finally` or `release`; tasks of your own go into a nursery that you leave",
        "R11": "acknowledge a batch when it has been dealt with",
        "R12": "answer at the time of the batch in your hands, or later; for what is to be answered when that batch is "
        "no longer in your hands, call ctx.notify_at(time) while it is, and answer at its Completed(time), which "
        "ctx.events(upstream) gives, or enter a ctx.hold(time) while it is, and leave it after the answer (not by a "
        "`with` in the body of an `async for`, which is left before the next batch)",
        "batching": "go through all values of a batch one by one, and keep what goes on from batch to batch; "
        "`limit` says how many may be answered, and nothing else",
        "times": "keep what you compute by time, in a dict, and take it out at its Completed(time)",
        "early": "answer a time when ctx.events(upstream) gives its Completed(time); hold a time, "
        "`with ctx.hold(time):`, while work at it goes on beside",
        "holding": "leave the `with ctx.hold(time):` when what was owed is done, or downgrade it; a time asked for "
        "with ctx.notify_at is held until its Completed(time) was taken from ctx.events(upstream), and ctx.batches "
        "gives none",
        "order": "keep what each input gives apart, by the input, and not by what came first",
        "state": "keep what belongs to a run in the generator, or in `__init__`: what is on a class, in a default "
        "argument or a global is there in the next run as well",
        SHARING: "make a new list of what you answer, and of what you were given; do not change either",
        "hang": "look for a wait that nothing ends: for an event that is never set, or for more values than there are",
        "spin": "look at the line: a loop without an end, `except` around an ask that takes its end for something to "
        "try again, or a call that blocks instead of one that is awaited",
        "crash": "raise an Exception of your own, and let what is no Exception (Cancelled, GeneratorExit) pass",
        "failure": "see what was raised, and at which line",
        "vacuous": "see what the module does with its input",
    }
)
"""The ways to mend each."""

MEANT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "batching": "batches=True (it looks at batches), timing=True (at the clock), ordered=False (values come as "
        "they are ready)",
        "holding": "keeps=True (it keeps times open, as a window does)",
        "order": "ordered=False (values come as they are ready)",
        "times": "without per_time=True",
        "early": "without per_time=True",
        "failure": "absorbs=True (it deals with failures, or is there to fail)",
        "vacuous": "silent=True (it gives no values)",
    }
)
"""The expectations by which a subject says that it is meant."""


def told(rule: str) -> str:
    """The sentence of a rule, or of what is found beside them."""
    return RULES.get(rule) or BESIDE[rule]
