# wrong: model
"""It releases the right to answer before it records the answer."""

from pullstream.timely.theory.model import Awaited, Completed, Held, Released, Sent, Settled, Taken


def record(moves):
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
            case "told":
                events.append(Completed("in", time))
            case "largest":
                events += [Released("largest", time), Sent("out", time)]
            case "stored":
                events.append(Taken("out", time))
            case "rests":
                events.append(Settled())
    return events
