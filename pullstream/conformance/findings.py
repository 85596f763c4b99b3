"""Findings other than broken rules of an edge, and how to fix each."""

from collections.abc import Mapping
from typing import Final

from pullstream.checker.rules import SHARING, sentence

BESIDE: Final[Mapping[str, str]] = {
    "batching": "the output does not depend on how many values are asked for at once or on how they arrive",
    "times": "values emitted at a time depend only on the values at that time",
    "early": "a result comes when its time is complete, and a time is complete downstream when its work is done",
    "holding": "a time is held only as long as something at it is pending",
    "order": "the output does not depend on which task ran first",
    "state": "each run starts afresh",
    SHARING: sentence(SHARING),
    "hang": "every request is answered",
    "spin": "a module lets other tasks run, and ends",
    "crash": "a module fails with an Exception, and nothing else ends the program",
    "failure": "a module raises only what its inputs, its functions or its requester raised",
    "vacuous": "a module that never emitted a value was not tested",
}
"""The sentences of the findings other than rules."""

HINTS: Final[Mapping[str, str]] = {
    "R1": "give each task its own lane(), and answer in the order in which you were asked",
    "R2": "answer a Batch of at least one and at most `limit` values, or DONE: keep the rest for the next ask; if "
    "nothing is left of a batch, ask for the next one, or yield nothing",
    "R3": "remember how the stream ended, and answer that from then on: DONE, or the same exception object",
    "R4": "give each task that asks a lane() of the reader",
    "R5": "let pending work be cancelled: no shield, lock or `except` around it may block an ending",
    "R6": "let every ending pass: raise the exception you received, end each of your inputs, and wait until it has "
    "confirmed",
    "R7": "abort upstream, and wait for it, before you answer DONE",
    "R8": "raise an exception only after the values before it were answered: yield those first, or keep the "
    "failure for the next ask",
    "R9": "ask nothing after DONE, a failure or a cancellation; cancelling an ask aborts the stream",
    "R10": "open resources at the first ask (in `acquire`, or at the top of the generator), and close them in "
    "every ending: with `with`, `finally` or `release`; start tasks only in a nursery that you leave",
    "R11": "acknowledge a batch when you have processed it",
    "R12": "answer at the time of the current batch, or later; to answer at its time after the next ask, call "
    "ctx.notify_at(time) before it, and answer at its Completed(time), which ctx.events(upstream) delivers; or "
    "enter a ctx.hold(time) before it, and leave it after the answer (not with a `with` in the body of an "
    "`async for`, which is left before the next batch); a kernel calls self.location.hold(time) and drop(time)",
    "batching": "process all values of a batch one by one, and keep state that outlasts a batch; `limit` is only "
    "the maximum number of values to answer",
    "times": "keep state per time, in a dict, and remove it at its Completed(time)",
    "early": "answer a time when ctx.events(upstream) delivers its Completed(time); hold a time, "
    "`with ctx.hold(time):`, while background work at it continues",
    "holding": "leave the `with ctx.hold(time):` when the pending work is done, or downgrade it; a time requested "
    "with ctx.notify_at is held until its Completed(time) is taken from ctx.events(upstream); ctx.batches "
    "delivers none",
    "order": "keep the values of each input separate, by input and not by order of arrival",
    "state": "keep the state of a run in the generator, or set it in `__init__`: state on a class, in a default "
    "argument or in a global survives into the next run",
    SHARING: "make a new list for each answer, and for changes of a received one; change neither",
    "hang": "look for a wait that nothing ends: for an event that is never set, or for more values than there are",
    "spin": "look for an endless loop, an `except` around an ask that takes the end for an error to retry, or a "
    "blocking call instead of an awaited one",
    "crash": "raise an Exception of your own, and let others (Cancelled, GeneratorExit) pass",
    "failure": "look at the exception, and at the line that raised it",
    "vacuous": "look at what the module does with its input; a Completed(time) comes only for a time at which it "
    "called ctx.notify_at(time), and complete(time) for self.notify(time, time)",
}
"""The fix for each finding."""

MEANT: Final[Mapping[str, str]] = {
    "batching": "batches=True (its output depends on batches), timing=True (on the clock), ordered=False (values "
    "come as they are ready)",
    "holding": "keeps=True (it keeps times open, as a window does)",
    "order": "ordered=False (values come as they are ready)",
    "times": "without per_time=True",
    "failure": "absorbs=True (it handles failures, or its purpose is to fail)",
    "vacuous": "silent=True (it emits no values)",
}
"""The expectations with which a subject declares a finding to be intended."""
