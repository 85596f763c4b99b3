"""What changes as one is written as one, and a batch is sent before the source goes on."""

from pullstream.timely.theory.model import Awaited, Completed, Held, Released, Sent, Settled, Taken, Together


def record(moves):
    at, events = 0, []
    for what, time in moves:
        if what == "answers":
            events.append(Sent("in", time))
            if time != at:
                events.append(Together([Released("numbers", at), Held("numbers", time)]))
            at = time
        elif what == "notify_at":
            events += [Held("largest", time), Awaited("in", time)]
        elif what == "asks":
            events += [Taken("in", time)]
        elif what == "ends":
            events += [Released("numbers", at)]
        elif what == "told":
            events += [Completed("in", time)]
        elif what == "largest":
            events += [Sent("out", time), Released("largest", time)]
        elif what == "stored":
            events += [Taken("out", time)]
        else:
            events += [Settled()]
    return events
