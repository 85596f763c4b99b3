"""A cell, told in words."""

from pullstream.conformance.cells import LONG, Cell


def in_words(cell: Cell, *, fed: bool = True, sink: bool = False) -> str:
    """The doings of the partners of a module: what came from above, how it was asked, and how that ended."""
    return " ".join([*([_above(cell)] if fed else []), *([] if sink else [_below(cell)]), _ending(cell, sink=sink)])


def _above(cell: Cell) -> str:
    number = {0: "no values", 1: "one value"}.get(cell.values, f"{cell.values} values")
    equal = ", some of them equal" if cell.alike else ""
    ended = ", and then fails" if cell.ending == "failure" else ""
    times = ""
    if cell.many:
        places = cell.places()
        times = f", at the times {', '.join(str(cell.time(place)) for place in places)}"
    elif cell.timed and cell.values > 1:
        times = f", each at a time of its own, 0 to {cell.values - 1}"
    waits = ", a second for each answer" if cell.delayed else ""
    quiet = f", and then nothing for {LONG:.0f} seconds" if cell.quiet else ""
    return f"Upstream gives {number}{equal}{times}{waits}{quiet}{ended}."


def _below(cell: Cell) -> str:
    asked = "one by one" if cell.limit == 1 else f"up to {cell.limit} at a time"
    whole = ", those of many times whole" if cell.whole else ""
    return f"It is asked for values {asked}{whole}."


def _ending(cell: Cell, *, sink: bool) -> str:
    if cell.way == "end":
        return "Nobody disturbs it."
    if cell.way == "raise":
        return f"Its function raises at the value number {cell.position + 1}."
    if sink:
        how = "The run is aborted" if cell.way == "abort" else "It is cancelled"
        return f"{how} after {cell.position} seconds."
    answers = {0: "before any answer", 1: "after one answer"}.get(cell.position, f"after {cell.position} answers")
    if cell.way == "cancel":
        return f"Then, {answers}, an ask is cancelled, {cell.moment} s after it was sent."
    sent = "aborts" if cell.way == "abort" else "sends an error"
    how = "" if cell.moment is None else f", {cell.moment} s into an ask on another lane"
    how += "" if cell.waits else ", without waiting for the confirmation"
    return f"Then, {answers}, the requester {sent}{how}{', and again' * cell.again}."
