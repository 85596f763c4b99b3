"""A description of a cell in words."""

from pullstream.conformance.cells import LONG, Cell


def in_words(cell: Cell, *, fed: bool = True, sink: bool = False) -> str:
    """Describe what a module's neighbours do: what upstream emits, how the module is asked, and how that ends."""
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
        times = f", each at its own time, 0 to {cell.values - 1}"
    waits = ", one second per answer" if cell.delayed else ""
    quiet = f", and then nothing for {LONG:.0f} seconds" if cell.quiet else ""
    return f"Upstream emits {number}{equal}{times}{waits}{quiet}{ended}."


def _below(cell: Cell) -> str:
    asked = "one by one" if cell.limit == 1 else f"up to {cell.limit} at a time"
    whole = ", multi-time answers whole" if cell.whole else ""
    return f"It is asked for values {asked}{whole}."


def _ending(cell: Cell, *, sink: bool) -> str:
    if cell.way == "end":
        return "Nothing disturbs it."
    if cell.way == "raise":
        return f"Its function raises at value number {cell.position + 1}."
    if sink:
        how = "The run is aborted" if cell.way == "abort" else "It is cancelled"
        return f"{how} after {cell.position} seconds."
    answers = {0: "before any answer", 1: "after one answer"}.get(cell.position, f"after {cell.position} answers")
    if cell.way == "cancel":
        return f"Then, {answers}, an ask is cancelled, {cell.moment} s after it was sent."
    sent = "aborts" if cell.way == "abort" else "sends an error"
    how = "" if cell.moment is None else f", {cell.moment} s into an ask on another lane"
    how += "" if cell.waits else ", without waiting for the confirmation"
    return f"Then, {answers}, the consumer {sent}{how}{', and again' * cell.again}."
