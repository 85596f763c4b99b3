"""Sources made of two sources that are wrong."""

import trio

import pullstream as ps
from pullstream.authoring import Traits
from pullstream.conformance import Subject


class Both(ps.authoring.Kernel):
    """Something made of two sources; subclasses make pairs of them in a wrong way."""

    def __init__(self, left, right):
        self.traits = Traits(sources=(left, right))

    async def one_each(self):
        """A value of each, asked for side by side."""
        answers = [None, None]

        async def ask(number):
            answers[number] = await self.inputs[number].ask(1)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, 0)
            nursery.start_soon(ask, 1)
        return answers

    def pair(self, left, right):
        """The answer that two answers make."""
        if ps.DONE in (left, right):
            return ps.DONE
        return ps.Batch(max(left.time, right.time), [(left.values[0], right.values[0])])

    async def produce(self, limit):
        return self.pair(*await self.one_each())


@ps.source
class InOrderOfArrival(Both):
    """Pairs whatever comes first with what comes next."""

    async def produce(self, limit):
        arrived = []

        async def ask(lane):
            arrived.append(await lane.ask(1))

        async with trio.open_nursery() as nursery:
            for lane in self.inputs:
                nursery.start_soon(ask, lane)
        return self.pair(*arrived)


@ps.source
class FailureAsEnd(Both):
    """Takes the failure of an input for its end."""

    async def produce(self, limit):
        try:
            return await super().produce(limit)
        except Exception:
            return ps.DONE


@ps.source
class GivesUpWaiting(Both):
    """Waits half a second for an answer, and asks again if none has come."""

    async def produce(self, limit):
        for lane in self.inputs:
            while True:
                with trio.move_on_after(0.5):
                    batch = await lane.ask(limit)
                    break
            if batch is not ps.DONE:
                return batch
        return ps.DONE


@ps.source
class TellsOne(Both):
    """Passes an ending on to its first input only."""

    async def dismiss(self, reason):
        await (self.inputs[0].abort() if reason is None else self.inputs[0].error(reason))


@ps.source
class TwoAsksOnALane(Both):
    """Asks one lane from two tasks."""

    async def produce(self, limit):
        answers = []

        async def ask():
            answers.append(await self.inputs[0].ask(1))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            nursery.start_soon(ask)
        return self.pair(*answers)


PAIRS = {"inputs": 2}

WRONG = (
    (Subject("in order of arrival", InOrderOfArrival, **PAIRS), {"order"}),
    (Subject("failure as end", FailureAsEnd, **PAIRS), {"R6"}),
    (Subject("gives up waiting", GivesUpWaiting, **PAIRS), {"R9"}),
    (Subject("tells one", TellsOne, **PAIRS), {"R6"}),
    (Subject("two asks on a lane", TwoAsksOnALane, **PAIRS), {"R4"}),
)
