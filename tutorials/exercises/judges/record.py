"""What is asked of `record`: that the model allows it, and that it tells of all that has happened."""

from collections import Counter

from pullstream.timely.theory.model import Awaited, Completed, Edge, Plan, Sent, Settled, Taken
from pullstream.timely.theory.model.record import Replay
from tutorials.judging import Wrong

HINTS = {
    "": (
        "Chapter 13, piece 5: `DAY` is such a record, of another program.",
        "Who holds which time, what is on which edge, and who waits to be told? What of it does a move change?",
        "One `case` for each word; `answers` changes what `numbers` holds as well, where the time is another.",
    ),
    "model": (
        "Chapter 13, piece 5.",
        "Go to the event that it names. What was there just before it, by what you have written?",
        "First what comes, then what goes: `Held` before `Released`, and a message before the right to send it goes.",
    ),
    "record": (
        "Chapter 13, piece 5.",
        "What has happened is all there, once, and nothing else; what rests is written down, too.",
        "Count: an `answers` is one `Sent`, an `asks` one `Taken`, a `told` one `Completed`, a `rests` one `Settled`.",
    ),
}

PLAN = Plan([Edge("in", "numbers", "largest"), Edge("out", "largest")], initial=[("numbers", 0)])
FACTS = {
    "answers": lambda time: Sent("in", time),
    "notify_at": lambda time: Awaited("in", time),
    "asks": lambda time: Taken("in", time),
    "told": lambda time: Completed("in", time),
    "largest": lambda time: Sent("out", time),
    "stored": lambda time: Taken("out", time),
    "rests": lambda time: Settled(),
}
"""What each move comes to, beside what is held."""


def judge(answer, seeds):
    """Judge an answer."""
    for times in ([0], [0, 0], [0, 1], [2], [0, 0, 1, 4, 4]):
        moves = list(run(times))
        events = answer["record"](list(moves))
        if not isinstance(events, list) or not all(type(event).__module__ == Sent.__module__ for event in events):
            raise Wrong("values", f"record(...) gave {events!r}: it should be a list of events of the model")
        _is_allowed(events, f"batches at {', '.join(map(str, times))}")
        _is_what_happened(moves, events)


def run(times):
    """The moves of a run in which batches come at these times."""
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
    """The moves after a time is complete."""
    yield "told", time
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
        raise Wrong("record", f"{story}: by what is written something is left at the end: {left}")


def _is_what_happened(moves, events):
    wanted = Counter(FACTS[what](time) for what, time in moves if what in FACTS)
    written = Counter(event for event in events if type(event) in {type(fact) for fact in wanted})
    for event in (wanted - written) + (written - wanted):
        raise Wrong(
            "record", f"of {moves}, {event} has happened {wanted[event]} times, and is written {written[event]} times"
        )
