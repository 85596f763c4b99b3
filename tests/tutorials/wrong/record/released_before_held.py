# wrong: model
"""It releases one time before it holds the next, so that in between it holds none."""

from pullstream.timely.theory.model import Awaited, Completed, Held, Released, Sent, Settled, Taken


def record(moves):
    at = 0
    events = []
    for what, time in moves:
        match what:
            case "answers":
                if time != at:
                    events += [Released("numbers", at), Held("numbers", time)]
                    at = time
                events.append(Sent("in", time))
            case "notify_at":
                events += [Held("largest", time), Awaited("in", time)]
            case "asks":
                events.append(Taken("in", time))
            case "ends":
                events.append(Released("numbers", at))
            case "told":
                events.append(Completed("in", time))
            case "largest":
                events += [Sent("out", time), Released("largest", time)]
            case "stored":
                events.append(Taken("out", time))
            case "rests":
                events.append(Settled())
    return events
