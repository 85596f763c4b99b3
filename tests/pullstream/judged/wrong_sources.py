"""Sources that are wrong, each as one writes it who has not yet met the rule; `WRONG` says what is to be found."""

import trio

import pullstream as ps
from pullstream.conformance import Subject


class Rows(ps.authoring.Kernel):
    """Five rows of a file, which subclasses read in a wrong way."""

    def __init__(self, file):
        self.file = file
        self.rows = [0, 1, 2, 3, 4]

    async def acquire(self):
        self.file.__enter__()

    async def produce(self, limit):
        values, self.rows = self.rows[:limit], self.rows[limit:]
        return ps.Batch(0, values) if values else ps.DONE

    async def release(self):
        self.file.__exit__(None, None, None)


@ps.source
class ClosesAtItsEnd(Rows):
    """Closes the file when its rows have run out, and in no other ending."""

    async def produce(self, limit):
        answer = await super().produce(limit)
        if answer is ps.DONE:
            self.file.__exit__(None, None, None)
        return answer

    async def release(self):
        pass


@ps.source
class IgnoresTheLimit(Rows):
    """Answers all there is."""

    async def produce(self, limit):
        return await super().produce(1000)


@ps.source
class LeavesATask(Rows):
    """Has a heart that beats on when everything is over."""

    async def acquire(self):
        await super().acquire()
        trio.lowlevel.spawn_system_task(self.beat)

    async def beat(self):
        await trio.sleep_forever()


@ps.source
class OneList(ps.authoring.Kernel):
    """Fills the same list for each of its batches."""

    def __init__(self):
        self.values = []
        self.next = 0

    async def produce(self, limit):
        self.values.clear()
        self.values += range(self.next, min(5, self.next + limit))
        self.next += limit
        return ps.Batch(0, self.values) if self.values else ps.DONE


@ps.source
class OpensTooSoon(Rows):
    """Opens its file when it is made."""

    def __init__(self, file):
        super().__init__(file)
        file.__enter__()

    async def acquire(self):
        pass


@ps.source
async def closes_twice(ctx, file):
    """Closes at its end, and once more in `finally`."""
    file.__enter__()
    try:
        for row in range(5):
            yield row
        file.__exit__(None, None, None)
    finally:
        file.__exit__(None, None, None)


@ps.source
async def back_in_time(ctx):
    """Answers at a time after it has said that nothing before the next would come."""
    for time in (0, 2, 1, 3):
        yield ps.Batch(time, [f"row {time}"])


@ps.source
async def kept_for_the_next(ctx, rows=[0, 1, 2, 3]):  # noqa: B006 - the slip it stands for
    """Uses up a list that is made once, and not once a run."""
    while rows:
        yield rows.pop()


@ps.source
class KeptOnTheClass(ps.authoring.Kernel):
    """The same on a class."""

    rows = [0, 1, 2, 3]  # noqa: RUF012 - the slip it stands for

    async def produce(self, limit):
        values = [self.rows.pop() for _ in range(min(limit, len(self.rows)))]
        return ps.Batch(0, values) if values else ps.DONE


@ps.source
class Forgetful(ps.authoring.Kernel):
    """Gives nothing at all, and says that this is its end."""

    async def produce(self, limit):
        return ps.DONE


WRONG = (
    (Subject("closes at its end", ClosesAtItsEnd, resource=True), {"R10"}),
    (Subject("ignores the limit", IgnoresTheLimit, resource=True), {"R2"}),
    (Subject("leaves a task", LeavesATask, resource=True), {"R10"}),
    (Subject("one list", OneList), {"sharing"}),
    (Subject("opens too soon", OpensTooSoon, resource=True), {"R10"}),
    (Subject("closes twice", closes_twice, resource=True), {"R10"}),
    (Subject("back in time", back_in_time), {"R12"}),
    (Subject("kept for the next", kept_for_the_next), {"state"}),
    (Subject("kept on the class", KeptOnTheClass), {"state"}),
    (Subject("forgetful", Forgetful), {"vacuous"}),
)
