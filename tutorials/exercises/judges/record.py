"""The judge of `record`: the model must allow the record, and it must contain everything that happened."""

from collections import Counter

from pullstream.timely.theory.model import Awaited, Completed, Edge, Plan, Sent, Settled, Taken
from pullstream.timely.theory.model.record import Replay
from tutorials.judging import Wrong

HINTS = {
    "": (
        "Read section 13.5: `DAY` is such a record, of another program.",
        "Which times are held, what is on which edge, and who waits for a notification? What does each move change?",
        "Write one `case` for each word. `answers` also changes the time that `numbers` holds, if it is a new one.",
    ),
    "model": (
        "Read section 13.5.",
        "Look at the event that it names. What was pending just before it, according to your record?",
        "Additions first, then removals: `Held` before `Released`, and a message before its right is released.",
    ),
    "record": (
        "Read section 13.5.",
        "The record must have every event once, and nothing else; `rests` is an event, too.",
        "Count: `answers` is one `Sent`, `asks` one `Taken`, `notified` one `Completed`, `rests` one `Settled`.",
    ),
}

PLAN = Plan([Edge("in", "numbers", "largest"), Edge("out", "largest")], initial=[("numbers", 0)])
FACTS = {
    "answers": lambda time: Sent("in", time),
    "notify_at": lambda time: Awaited("in", time),
    "asks": lambda time: Taken("in", time),
    "notified": lambda time: Completed("in", time),
    "largest": lambda time: Sent("out", time),
    "stored": lambda time: Taken("out", time),
    "rests": lambda time: Settled(),
}
"""The event of each move, besides those about holds."""


def judge(answer, seeds):
    """Judge an answer."""
    for times in ([0], [0, 0], [0, 1], [2], [0, 0, 1, 4, 4]):
        moves = list(run(times))
        events = answer["record"](list(moves))
        if not isinstance(events, list) or not all(type(event).__module__ == Sent.__module__ for event in events):
            raise Wrong("values", f"record(...) returned {events!r}; return a list of events of the model")
        _is_allowed(events, f"batches at {', '.join(map(str, times))}")
        _is_what_happened(moves, events)


def run(times):
    """Yield the moves of a run in which batches come at these times."""
    open_at = None
    for time in times:
        yield "answers", time
        if open_at is not None and time != open_at:
            yield from over(open_at)
        if time != open_at:
            yield "notify_at", time
        open_at = time
        yield "asks", time
        yield "rests", None
    yield "ends", open_at
    yield from over(open_at)
    yield "rests", None


def over(time):
    """Yield the moves after a time is complete."""
    yield "notified", time
    yield "largest", time
    yield "stored", time


def _is_allowed(events, story):
    replay = Replay(PLAN)
    for index, event in enumerate(events):
        try:
            replay.see(index, event)
        except KeyError as exc:
            raise Wrong(
                "record", f'{story}: {event} names {exc}; nodes are "numbers", "largest", edges "in", "out"'
            ) from exc
        for wrong in replay.violations[:1]:
            shown = "\n  ".join(f"{n} {each}" for n, each in list(enumerate(events))[max(0, index - 3) : index + 1])
            raise Wrong(
                "model", f"{story}: the model does not allow event {index}: {wrong.rule}\n  {shown}\n{wrong.because}"
            )
    left = ", ".join(f"{stamp.time} at {stamp.location}" for stamp in replay.pending)
    if left:
        raise Wrong("record", f"{story}: according to the record something is still pending at the end: {left}")


def _is_what_happened(moves, events):
    wanted = Counter(FACTS[what](time) for what, time in moves if what in FACTS)
    written = Counter(event for event in events if type(event) in {type(fact) for fact in wanted})
    for event in (wanted - written) + (written - wanted):
        raise Wrong(
            "record", f"for {moves}, {event} happens {wanted[event]} times, but is recorded {written[event]} times"
        )
