"""What the tests of journals share: where a journal is, and a world in which processes are killed."""

import random
from copy import deepcopy
from pathlib import Path

import pytest
import trio
import trio.testing

import pullstream as ps
from pullstream.journal import keeper
from pullstream.journal.store import JournalContents, Record


class Killed(BaseException):
    """The process is gone."""


class World:
    """What outlives a run: the journal's contents and what the sinks stored; and when the next run is killed."""

    def __init__(self):
        self.journal = JournalContents()
        self.stored = {}
        self.writes = 0
        self.left = None

    def step(self):
        """Something happens; from the last step on nothing does."""
        if self.left is not None:
            self.left -= 1
            if self.left <= 0:
                raise Killed

    @property
    def dead(self):
        return self.left is not None and self.left <= 0

    def store(self, name):
        """A sink that stores the values of each time under its name, and replaces what was there."""

        def put(time, values):
            self.step()
            self.stored[name, time] = list(values)
            self.step()

        return ps.at_completion(put)

    def slowly(self, seed):
        """Values pass, after some time, and may be the last thing that happens."""
        dice = random.Random(seed)

        async def pass_on(value):
            await trio.sleep(dice.choice([0, 0, 0.001, 0.01]))
            self.step()
            return value

        return ps.map_async(pass_on, 1 + seed % 3)

    def run(self, pipeline, *, limit=4096, journal=True, kill=None):
        """One run, which may be killed after so many steps: its result, or None if it was."""
        self.left = kill

        async def main():
            async with pipeline.open(limit=limit, journal="held" if journal else None) as running:
                return await running.result()

        try:
            return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
        except BaseException:
            if not self.dead:
                raise
            return None


class Held:
    """The journal's file, held in memory: what is written after the end of the process is lost."""

    world: World

    def __init__(self, path, secret=None):
        self.path = Path(path)

    def contents(self):
        return deepcopy(self.world.journal)

    def write(self, record):
        world = self.world
        if world.dead:
            return
        world.journal.add(Record.unpacked(record.packed()))
        world.writes += bool(record.sinks)

    def close(self):
        pass


async def after_a_moment(function, *given):
    """In place of a thread, for which the virtual clock would not wait."""
    await trio.lowlevel.checkpoint()
    return function(*given)


@pytest.fixture
def path(tmp_path):
    """Where the journal is."""
    return tmp_path / "run.journal"


@pytest.fixture
def new_world(monkeypatch):
    """Makes worlds, the last of which holds the journal of whatever is run."""
    monkeypatch.setattr(keeper, "JournalStore", Held)
    monkeypatch.setattr(keeper, "in_thread", after_a_moment)

    def make():
        Held.world = World()
        return Held.world

    return make
