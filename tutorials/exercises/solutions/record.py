"""13.2 A run, recorded for the model: gain a right before another is released."""

from pullstream.timely.theory.model import Awaited, Completed, Held, Released, Sent, Settled, Taken


def record(moves):
    """Return the events of each move."""
    at = 0
    events = []
    for what, time in moves:
        match what:
            case "answers":
                if time != at:
                    events += [Held("numbers", time), Released("numbers", at)]
                    at = time
                events.append(Sent("in", time))
            case "notify_at":
                events += [Held("largest", time), Awaited("in", time)]
            case "asks":
                events.append(Taken("in", time))
            case "ends":
                events.append(Released("numbers", at))
            case "notified":
                events.append(Completed("in", time))
            case "largest":
                events += [Sent("out", time), Released("largest", time)]
            case "stored":
                events.append(Taken("out", time))
            case "rests":
                events.append(Settled())
    return events
