"""The completion protocol: its order of calls, its failures, and the kit that kills sinks at their steps."""

import json
import re

import pytest
import trio
import trio.testing

import pullstream as ps
from pullstream.authoring import Committer
from pullstream.conformance import ConformanceError, kills
from pullstream.errors import PullstreamError


class Recording(Committer):
    """Records the calls; `committed` are the times of earlier runs, and `fails` the call that raises."""

    def __init__(self, calls, committed=(), fails=None, gate=None):
        self.calls, self.committed, self.fails, self.gate = calls, committed, fails, gate

    def call(self, *what):
        self.calls.append(what)
        if what[0] == self.fails:
            raise ValueError(what[0])

    async def open(self, ctx):
        self.call("open")
        return self.committed

    async def prepare(self, batch):
        self.call("prepare", batch.time, *batch.values)

    async def commit(self, times):
        if self.gate is not None:
            await self.gate.wait()
        self.call("commit", *times)

    async def ended(self):
        self.call("ended")

    async def close(self):
        self.call("close")

    def result(self):
        return "done"


@ps.sink
async def through(upstream, ctx, committer):
    return await committer.run(upstream, ctx)


def test_mistakes_of_a_subclass_are_explained():
    class Plain(Recording):
        def commit(self, times):
            pass

    for committer, words in [
        (Recording([], committed=None), r"^Recording\.open returned None: return .* or \(\) if there are none"),
        (Plain([]), "write `async def`"),
    ]:
        with pytest.raises(TypeError) as caught:
            ps.run(ps.pipe(ps.values([1]), through(committer)))
        assert re.search(words, "\n".join([str(caught.value), *caught.value.__notes__]))
    with pytest.raises(ps.CompositionError, match=r"with `return await Recording\(\.\.\.\)\.run\(upstream, ctx\)`"):
        ps.sink(Recording)


NUMBERS = [10, 11, 20, 30]


def numbers():
    return ps.values(NUMBERS, time=lambda n: n // 10)


def test_the_order_of_calls():
    calls = []

    assert ps.run(ps.pipe(numbers(), through(Recording(calls))), limit=1) == "done"

    assert calls[0] == ("open",)
    assert calls[-2:] == [("ended",), ("close",)]
    assert [value for what, *rest in calls if what == "prepare" for value in rest[1:]] == NUMBERS
    assert [time for what, *times in calls if what == "commit" for time in times] == [1, 2, 3]
    assert calls.index(("prepare", 1, 11)) < next(at for at, call in enumerate(calls) if call[:2] == ("commit", 1))


def test_committed_times_are_not_prepared_again():
    calls = []

    ps.run(ps.pipe(numbers(), through(Recording(calls, committed={1, 3}))))

    assert [call[1] for call in calls if call[0] in {"prepare", "commit"}] == [2, 2]


@pytest.mark.parametrize("committed", [(), {1, 9}])
@pytest.mark.parametrize("taken", [0, 2, 3])
def test_times_before_a_refused_value_are_committed(taken, committed):
    calls, skipped = [], []

    class Many(Recording):
        many = True

        def prepare(self, batch):
            if committed:
                self.call("prepare", batch.time, *batch.values)
            self.taken = 0 if committed else taken
            if (committed and batch.time == 3) or not committed:
                raise ValueError("refused")

        def skipped(self, time):
            skipped.append(time)

    with pytest.raises(ValueError, match="refused"):
        ps.run(ps.pipe(numbers(), through(Many(calls, committed))))
    times = [time for what, *rest in calls if what == "commit" for time in rest]
    assert times == ([2] if committed else {0: [], 2: [1], 3: [1, 2]}[taken])
    assert skipped == ([1] if committed else [])
    assert calls[-1] == ("close",)


@pytest.mark.parametrize("what", ["open", "prepare", "commit", "ended", "close"])
def test_a_call_that_raises(what):
    """It fails the run, and the sink is still closed."""
    calls = []

    with pytest.raises(ValueError, match=what):
        ps.run(ps.pipe(numbers(), through(Recording(calls, fails=what))))

    assert calls[-1] == ("close",)
    assert calls.count(("close",)) == 1
    assert (("ended",) in calls) == (what in {"ended", "close"})


def test_a_second_failure_is_a_note():
    class Closing(Recording):
        async def close(self):
            raise OSError("no disk")

    with pytest.raises(ValueError, match="commit") as failed:
        ps.run(ps.pipe(numbers(), through(Closing([], fails="commit"))))

    assert "and the sink could not be closed: OSError: no disk" in failed.value.__notes__


async def test_a_time_is_complete_when_it_is_committed(autojump_clock):
    gate = trio.Event()
    calls = []
    async with ps.pipe(numbers(), through(Recording(calls, gate=gate))).open() as running:
        with trio.move_on_after(1) as waiting:
            await running.progress.completed(1)
        assert waiting.cancelled_caught
        gate.set()
        await running.progress.completed(1)
        assert ("commit", 1) in [call[:2] for call in calls]


async def test_idle_waits_for_the_commits():
    committed = []

    class Idle(Recording):
        async def prepare(self, batch):
            await self.idle()
            committed.append(sum(len(call) - 1 for call in self.calls if call[0] == "commit"))

    await ps.arun(ps.pipe(numbers(), through(Idle([]))), limit=1)

    assert committed == [0, 0, 1, 2]


# ---- the kit


class Folder(Committer):
    """Keeps a file for each time; `fault` says what is wrong with it."""

    def __init__(self, folder, fault):
        self.folder, self.fault, self.prepared = folder, fault, {}

    async def open(self, ctx):
        if self.fault == "reports too much" and list(self.folder.iterdir()):
            return range(5)
        return ()

    def prepare(self, batch):
        before = [] if self.fault == "last batch" else self.prepared.get(batch.time, [])
        self.prepared[batch.time] = [*before, *batch.values]
        if self.fault == "too early":
            (self.folder / str(batch.time)).write_text(json.dumps(batch.values[:1]))

    async def commit(self, times):
        for time in times if self.fault != "on close" else ():
            await trio.to_thread.run_sync(self.put, time, self.prepared.pop(time))

    async def close(self):
        for time, found in self.prepared.items() if self.fault == "on close" else ():
            self.put(time, found)

    def put(self, time, found):
        path = self.folder / str(time)
        if self.fault == "in place":
            with path.open("w") as file:
                for character in json.dumps(found):
                    file.write(character)
                    file.flush()
            return
        if self.fault == "repeats":
            # The record is written after the rows, and not with them.
            rows = self.folder / "rows"
            before = rows.read_text() if rows.exists() else ""
            rows.write_text(before + "".join(f"{time} {value}\n" for value in found))
            return
        new = path.with_name(f".new-{time}")
        new.write_text(json.dumps(found))
        new.replace(path)


def read_folder(folder):
    found = {}
    for path in folder.iterdir():
        if path.name == "rows":
            for line in path.read_text().splitlines():
                time, value = map(int, line.split())
                found.setdefault(time, []).append(value)
        elif path.name.isdigit():
            text = path.read_text()
            found[int(path.name)] = json.loads(text) if text.endswith("]") else text
    return found


def folder_sink(fault):
    return lambda folder: through(Folder(folder, fault))


def test_a_right_sink_passes():
    report = kills(folder_sink(None), read_folder, number=8).check()

    assert report.kills >= 8
    assert report.steps > 40
    assert str(report) == f"{report.kills} kills at {report.steps} places: ok"


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("too early", "are visible too early as"),
        ("in place", "are visible too early as '"),  # a part of its text
        ("repeats", "instead of"),
        ("reports too much", "are lost"),
        ("on close", "are not visible, although `commit` has returned"),
        ("last batch", "not killed, but with a time's values in several batches: the values at"),
    ],
)
def test_a_wrong_sink_is_found(fault, says):
    with pytest.raises(ConformanceError, match=says):
        kills(folder_sink(fault), read_folder, number=10).check()


def test_untestable_sinks_are_refused():
    with pytest.raises(PullstreamError, match="is not a Committer"):
        kills(lambda folder: ps.collect(), lambda folder: {})
    with pytest.raises(PullstreamError, match="fails without being killed: ValueError: open"):
        kills(lambda folder: through(Recording([], fails="open")), lambda folder: {})
    with pytest.raises(PullstreamError, match=r"must return the values of 5 times, but got \{\}"):
        kills(lambda folder: through(Recording([])), lambda folder: {})
