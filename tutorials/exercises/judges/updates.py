"""The judge of `updates`: the tracker receives them one by one, and the model judges its completions."""

from collections import Counter

from pullstream.timely import Delay, GraphBuilder, NegativeCountError, Source, Target, Tracker
from pullstream.timely.theory import model
from tutorials.judging import Wrong

HAPPENED = (
    (model.Sent("next", 0), model.Held("till", 1), model.Released("till", 0)),
    (model.Sent("clerk", 1), model.Taken("next", 0)),
    (model.Sent("next", 1), model.Released("till", 1)),
    (model.Taken("next", 1),),
    (model.Taken("clerk", 1),),
)
"""The five moves as events of the model; an edge has the name of the place where it leads."""

PLAN = model.Plan(
    [model.Edge("next", "till", "adds"), model.Edge("clerk", "adds", "enters")],
    sends={"clerk": lambda day: [day + 1]},
    initial=[("till", 0)],
)
WATCHED = [(place, day) for place in ("next", "clerk") for day in range(4)]

HINTS = {
    "": (
        "Read section 10.6.",
        "For each move: what is new, and at which day? What is gone?",
        "A sale at `next` at day 0 becomes one at the clerk at day 1. A sale that has been processed is removed, once.",
    ),
    "early": (
        "Read section 10.8.",
        "Between two updates of one move, the tracker sees half of it. Which half is harmless?",
        "Additions first, 1, and then the removal of their cause, -1.",
    ),
    "holding": (
        "Read section 10.6.",
        "After the last move nothing is pending. What has never been removed?",
        "Each 1 needs its -1: when `next` passes on or drops a sale, when the clerk is done, when the till closes.",
    ),
}


def judge(answer, seeds):
    """Judge an answer."""
    moves = answer["MOVES"]
    if len(moves) != len(HAPPENED):
        raise Wrong("prediction", f"there are {len(HAPPENED)} moves, and you have {len(moves)}")
    tracker = Looking()
    record = [model.Awaited(*stamp) for stamp in WATCHED]
    record += tracker.told(0, ("till", 0, 1))
    for number, (updates, happened) in enumerate(zip(moves, HAPPENED, strict=True), start=1):
        # The move has happened when its first update arrives.
        record.append(model.Together(happened))
        for update in updates:
            record += tracker.told(number, update)
            for wrong in model.replay(PLAN, record).violations:
                raise Wrong("early", _early(number, update, wrong))
    left = tracker.left()
    if left:
        raise Wrong(
            "holding",
            f"at the end there is still {left[0][1]} at {left[0][0]!r}, so its day never completes",
        )
    for number, (updates, happened) in enumerate(zip(moves, HAPPENED, strict=True), start=1):
        _compared(number, Counter(map(tuple, updates)), Counter(map(_update, happened)))


class Looking:
    """The tracker, evaluated after every update."""

    def __init__(self):
        builder = GraphBuilder()
        nodes = builder.add_node("till", 0, 1), builder.add_node("next", 1, 1, {(0, 0): Delay(1)})
        clerk = builder.add_node("clerk", 1, 0)
        builder.add_edge(Source(nodes[0]), Target(nodes[1]))
        builder.add_edge(Source(nodes[1]), Target(clerk))
        graph = builder.build()
        self.places = {
            "till": graph.place(Source(nodes[0])),
            "next": graph.place(Target(nodes[1])),
            "clerk": graph.place(Target(clerk)),
        }
        # The model judges completions that are revoked.
        self.tracker = Tracker(graph, monotone=False)
        self.tracker.observe(self.places["next"])
        self.tracker.observe(self.places["clerk"])
        self.open = list(WATCHED)

    def told(self, number, update):
        """Report an update; return the completions that it causes."""
        try:
            place, day, change = update
            self.tracker.update(self.places[place], day, change)
        except (KeyError, TypeError, ValueError):
            raise Wrong("prediction", f"move {number}: {update} is not of the form (place, day, 1 or -1)") from None
        try:
            self.tracker.propagate()
        except NegativeCountError:
            raise Wrong("prediction", f"move {number}, {update}: there is nothing at {place!r} at day {day}") from None
        complete = [
            (place, day) for place, day in self.open if not self.tracker.frontier(self.places[place]).less_equal(day)
        ]
        self.open = [stamp for stamp in self.open if stamp not in complete]
        return [model.Completed(*stamp) for stamp in complete]

    def left(self):
        """Return what is still pending, by place."""
        counts = {place: sorted(self.tracker.counts(at)) for place, at in self.places.items()}
        return [(place, f"something of day {days[0]}") for place, days in counts.items() if days]


def _early(number, update, wrong):
    """Describe a completion that the model does not allow."""
    complete = f"day {wrong.event.time} complete at {wrong.event.location!r}"
    return f"move {number}: after {update} the tracker finds {complete}; the model: {wrong.rule}, {wrong.because}"


def _update(event):
    """Return the tracker's update for an event."""
    match event:
        case model.Sent(place, day) | model.Held(place, day):
            return place, day, 1
        case model.Taken(place, day) | model.Released(place, day):
            return place, day, -1


def _compared(number, said, happened):
    """Check that the updates of a move are exactly its events."""
    for update in said - happened:
        raise Wrong("prediction", f"move {number}: {update} is not what happens there")
    for update in happened - said:
        raise Wrong("prediction", f"move {number}: something is missing at {update[0]!r}")
