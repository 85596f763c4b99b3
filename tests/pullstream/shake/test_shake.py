"""`shake` finds faults that only some schedules show, names the steps they take, and passes correct pipelines."""

import io
import itertools
import re
import secrets
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
import trio

import pullstream as ps
from pullstream.__main__ import main
from pullstream.engine.sidecar.location import Location
from pullstream.shake import ShakeError, door, shake
from pullstream.shake.choices import Choices
from pullstream.shake.lives import Lives
from pullstream.shake.simulation import Simulation
from pullstream.trace import Trace, judge
from tests.pullstream.common import script
from tests.pullstream.judged import wrong
from tests.pullstream.shake.scenes import calls, slowly
from tests.pullstream.test_new import outcome
from tests.sampling import amount

ROOT = Path(__file__).parents[3]


def breaks_down():
    raise KeyError("tea")


def failing():
    return ps.pipe(ps.values([2, 1, 0]), ps.map_async(slowly, 2), ps.map(lambda n: 1 // n), ps.collect())


def failing_branch():
    fails = ps.pipe(ps.map_async(slowly, 1), ps.map(lambda n: 1 // (n - 3)), ps.drain())
    return ps.pipe(ps.values(range(9)), ps.map_async(slowly, 1), ps.tee(fails, ps.collect(), capacity=4))


def failing_source():
    """Which times complete before the failure depends on the other source's progress."""
    days = ps.values(range(6), time=lambda n: n // 2)
    fails = ps.pipe(days, ps.map(lambda n: 1 // (4 - n)))
    return ps.pipe(ps.join(days, fails, on=lambda _: 0, how="asof", at=lambda n: n), ps.collect())


def ended_beside():
    """How many late values are read before `take` has enough depends on how far `prefetch` reads ahead."""
    stamped = ps.stamp(lambda n: n, lateness=0, late=ps.drain())
    return ps.pipe(ps.values([5, 1, 6, 2, 7, 3, 8, 4, 9]), stamped, ps.prefetch(2), ps.take(2), ps.collect())


@pytest.mark.parametrize("make", [calls, failing, failing_branch, failing_source, ended_beside])
def test_correct_pipelines_pass(make):
    report = shake(make, amount(20, 1000)).check()

    assert report.ok
    assert not report.compared.startswith("Values were not")
    assert ("The undisturbed run itself fails" in report.compared) == make.__name__.startswith("failing")


@pytest.mark.parametrize(
    ("after", "compare"),
    [
        (ps.map(str), "times"),
        (ps.scan(lambda total, n: total + n, 0), "nothing"),
        (ps.batch(2), "nothing"),
        (ps.loop(ps.take(5)), "nothing"),
        (ps.flatten(concurrency=2), "times"),
    ],
)
def test_order_matters_downstream_of_a_reordering_module(after, compare):
    """The state of a source upstream of `merge` does not depend on it, so values are compared."""
    merged = ps.pipe(ps.merge(*[script(0, 1, 2)] * 2), ps.map(lambda n: [n]) if compare == "times" else ps.map(abs))
    assert Lives(lambda: ps.pipe(merged, after, ps.collect())).undisturbed("auto", ()).compare == compare


def test_equal_names_are_numbered_in_program_order():
    """Even if the edges of the second source are made first; inner streams come last."""
    second = ps.pipe(ps.values([ps.values("c")]), ps.flatten())
    like = Lives(lambda: ps.pipe(ps.zip(ps.values("a"), second), ps.collect())).undisturbed("auto", ()).like
    assert list(like.watcher.edges) == ["values (2)", "values", "flatten", "zip", "values (3)"]
    assert [edge.location.node for edge in like.watcher.edges.values()] == [1, 0, 2, 3, 0]


# ---- wrong pipelines


def depends_on_batches():
    return ps.pipe(ps.values(range(4)), ps.map_batches(lambda values: [len(values)]), ps.collect())


def races():
    total = 0

    async def add(value):
        nonlocal total
        before = total
        await trio.sleep(1 if value % 2 else 1.5)
        total = before + value
        return total

    return ps.pipe(ps.values(range(4)), ps.map_async(add, 2), ps.collect())


def swallows_failures():
    return ps.pipe(ps.values(range(4), time=lambda n: n), wrong.Swallows(), ps.collect())


class LosesFailures(ps.authoring.Kernel):
    async def produce(self, limit):
        try:
            return await self.upstream.ask(limit)
        except ZeroDivisionError:
            if limit > 1:
                raise
            return ps.DONE


def loses_failures():
    return ps.pipe(ps.values([2, 1, 0]), ps.map(lambda n: 1 // n), ps.transformer(LosesFailures)(), ps.collect())


class Leaks(ps.authoring.Kernel):
    """Closes its file when it ends by itself, but not when it is aborted."""

    async def acquire(self):
        self.file = Path(__file__).open()  # noqa: ASYNC230, SIM115
        self.left = 3
        OPENED.append(self.file)

    async def produce(self, limit):
        if not self.left:
            self.file.close()
            return ps.DONE
        self.left -= 1
        await trio.sleep(1)
        return ps.Batch(0, [self.left])


OPENED = []


def leaks():
    return ps.pipe(ps.source(Leaks)(), ps.collect())


class Impatient(ps.authoring.Kernel):
    """Ends its stream if an answer takes long."""

    async def produce(self, limit):
        with trio.move_on_after(0.5):
            return await self.upstream.ask(limit)
        return ps.DONE


def impatient_inside():
    """The inner values never take long, unless the simulation pauses."""
    inside = ps.flat_map(lambda n: ps.pipe(ps.values([n, n + 1]), ps.transformer(Impatient)()))
    return ps.pipe(ps.values([0, 2]), inside, ps.collect())


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (depends_on_batches, "values"),
        (impatient_inside, "missing values"),
        (races, "values"),
        (swallows_failures, "missing values"),
        (loses_failures, "ending"),
        (leaks, "left behind"),
    ],
)
def test_faults_of_some_schedules_are_found(make, kind):
    report = shake(make, 60)
    found = next(each for each in report.differences if each.kind == kind)
    alone = shake(make, seed=found.seed)
    for file in OPENED:
        file.close()

    assert report.kinds[kind] >= 1
    assert 1 <= len(found.steps) <= 5 < found.out_of or found.out_of <= 5
    assert [(each.what.partition(" (")[0], each.steps) for each in alone.differences] == [
        (found.what.partition(" (")[0], found.steps)
    ]


def test_an_early_completion_is_found(monkeypatch):
    """Calls that are not held let their times complete before their results arrive."""
    shake(calls, 5).check()
    for name in ("hold", "drop"):
        kept = getattr(Location, name)
        monkeypatch.setattr(
            Location, name, lambda location, time, kept=kept: "map_async" in location.names or kept(location, time)
        )

    with pytest.raises((ShakeError, ps.PullstreamError), match=r"progress|R12|early"):
        shake(calls, 20).check()


def test_a_custom_check():
    report = shake(calls, 10, checks=[lambda run: "None, too slow" if run.ending == "abandoned" else None])

    assert report.kinds == {"<lambda>": report.kinds.total()}
    assert "None, too slow" in report.differences[0].what
    assert "was" in report.differences[0].steps[-1]
    assert "while" in str(report) or "after" in str(report)


def test_the_trace_of_a_difference_is_a_trace():
    (found,) = shake(races, 5).differences
    trace = Trace.of(io.StringIO(found.trace))

    assert judge(trace).ok
    assert found.step is not None
    assert trace.events[found.step - 1][2:] == ["deviation", found.steps[-1]]


class Stuck(ps.authoring.Kernel):
    async def produce(self, limit):
        await trio.sleep_forever()


@ps.sink
async def asks_on(upstream, ctx):
    while await upstream.ask() is not ps.DONE:
        pass
    await upstream.ask()


class Early(ps.authoring.Kernel):
    async def produce(self, limit):
        self.location.drop_capability()
        return ps.Batch(0, [1])


def keeps_state():
    """A pipeline that differs each time."""
    numbers = itertools.count()
    return lambda: ps.pipe(ps.once(next(numbers)), ps.collect())


def of(*parts):
    """A function that returns the same pipeline each time."""
    return lambda: ps.pipe(*parts)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        # Nothing can be compared with it.
        (of(ps.source(Stuck)(), ps.collect()), "the undisturbed run is wrong, .*: hang: the run did not end"),
        (of(ps.source(Early)(), ps.collect()), "the undisturbed run is wrong, .*: CapabilityError: Early, composed at"),
        (of(script(0, 1, 2), asks_on()), "the undisturbed run is wrong, .*: R9: asks_on"),
        (keeps_state(), "two undisturbed runs differ, .*: collect received 1 .* not 0"),
        (
            of(ps.values(iter("ab")), ps.collect()),
            "differ, .* failed with ReuseError.* the undisturbed run is complete",
        ),
        (of(ps.integers(), ps.map(str), ps.drain()), r"by itself, but drain has received more than 1,000 .* take\(n\)"),
        (of(ps.integers(), ps.filter(lambda n: n < 0), ps.drain()), "by itself, but filter was asked more than 1,000"),
        (of(ps.values("ab")), "a complete pipeline, .* it returned values"),
        (lambda: (), r"a complete pipeline, .* it returned \(\)"),
        (lambda: (calls(), calls()), r"a complete pipeline, .* it returned \(.*, .*\)"),
    ],
)
def test_unfit_pipelines_are_refused(make, says, monkeypatch):
    monkeypatch.setattr("pullstream.shake.simulation.MOST", 1_000)
    with pytest.raises(ps.PullstreamError, match=says):
        shake(make, 3)


@pytest.mark.parametrize(
    ("options", "kind", "says"),
    [
        ({"seeds": 0}, ValueError, "needs at least 1 seed, but got 0"),
        ({"compare": "values"}, ValueError, "compares 'auto', 'order', .*, but got 'values'"),
        ({"journal": True}, TypeError, "with a journal, .* must take one argument, a folder"),
        ({"make": lambda folder: calls()}, TypeError, "must need no argument or, with journal=True .*a folder"),
    ],
)
def test_invalid_options_are_refused(options, kind, says):
    with pytest.raises(kind, match=says):
        shake(**{"make": calls, **options})


def test_threads_shake_one_at_a_time():
    """No thread saves another's patches as originals, or reports its files as left behind."""
    names = trio.to_thread.run_sync, secrets.token_hex
    reports = []
    started = threading.Barrier(3)

    def work():
        # A thread that starts during a run of another one would count as left behind by that run.
        started.wait()
        reports.append(shake(calls, 10))

    several = [threading.Thread(target=work) for _ in range(3)]
    for thread in several:
        thread.start()
    for thread in several:
        thread.join()

    assert [report.ok for report in reports] == [True] * 3
    assert (trio.to_thread.run_sync, secrets.token_hex) == names


def test_a_trio_program_cannot_shake():
    async def main():
        shake(calls, 1)

    with pytest.raises(ps.PullstreamError, match=r"shake\(\) starts trio programs, and one is running here"):
        trio.run(main)


def test_another_trio_is_refused(monkeypatch):
    monkeypatch.setattr(door, "trio", SimpleNamespace(__version__="9.0"))

    with pytest.raises(ps.PullstreamError, match=r"cannot decide the order of tasks with trio"):
        shake(calls, 1)


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    target = "tests.pullstream.shake.test_shake:races"

    assert main(["shake", target, "--seeds", "5"]) == 1
    out = capsys.readouterr().out
    assert "Caused by 1 of" in out
    seed = out.rpartition("--seed ")[2].split()[0]
    assert main(["shake", target, "--seed", seed, "--trace", str(tmp_path / "it.trace")]) == 1
    assert "<html" in (tmp_path / "it.trace.html").read_text()
    agreeing = ["shake", "tests.pullstream.shake.scenes:calls", "--seeds", "2", "--trace", str(tmp_path / "none")]
    assert main(agreeing) == 0
    assert f"{tmp_path / 'none'} was not written, because there is no difference" in capsys.readouterr().out
    assert main(["shake", "tests.pullstream.shake.test_shake:nothing"]) == 2
    assert main(["shake", "tests.pullstream.shake.test_shake:breaks_down"]) == 2
    assert re.search(r"KeyError: 'tea'\n  raised at \S*test_shake.py:\d+", capsys.readouterr().err)
    assert main(["shake", target, "--seed", seed, "--trace", str(tmp_path / "no_folder" / "it.trace")]) == 2
    captured = capsys.readouterr()
    assert "Caused by 1 of" in captured.out, "the finding is printed anyway"
    assert "No such file or directory" in captured.err
    assert main(["shake", "tests.pullstream.shake.test_killed:unsynced", "--journal", "--seeds", "10"]) == 1
    assert "test_killed:unsynced' --journal --seed" in capsys.readouterr().out


def test_the_commands_of_the_guide(tmp_path, monkeypatch, capsys):
    page = (ROOT / "tutorials/site/pages/guides/shake.md").read_text()
    parts = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    programs = "".join(re.split("if __name__|report = ", part)[0] for part in parts)
    (tmp_path / "mine.py").write_text(programs)
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^python -m pullstream (shake .*)$", page, re.MULTILINE)
    assert len(commands) == 3

    printed = ""
    for command in commands:
        assert main(command.replace("1000", "40").split()) == 1
        printed += capsys.readouterr().out
    # The first seed found may change with the engine.
    numbers = re.compile(r"\d+")
    for line in re.findall(r"^(seed .*|  Caused by .*)$", page, re.MULTILINE):
        assert numbers.sub("N", line) in numbers.sub("N", printed)
    assert "<html" in Path("shaken.trace.html").read_text()


def test_the_fixture(tmp_path):
    """It raises the first difference; a marker's settings apply to a test, and a call's override them."""
    (tmp_path / "test_mine.py").write_text("""
import pytest
from tests.pullstream.shake.test_killed import counts
from tests.pullstream.judged import wrong
from tests.pullstream.shake.scenes import calls
from tests.pullstream.shake.test_shake import races

@pytest.mark.shake(seeds=3)
def test_right(shake):
    assert shake(calls).seeds == 3
    assert shake(counts, seeds=2, journal=True).seeds == 2

def test_wrong(shake):
    shake(races, seeds=5)
""")
    settings = "addopts = --strict-markers -W error\nmarkers =\n  slow\n  sampled\n"
    (tmp_path / "pytest.ini").write_text(f"[pytest]\n{settings}")
    out = outcome(tmp_path).stdout
    assert "1 failed, 1 passed" in out, out
    assert "ShakeError: 5 seeds" in out


def test_another_trio_program_in_a_thread_is_not_simulated():
    """Its tasks run in a random order, as always, and the simulation does not see them."""
    steps = []

    async def beside():
        for _ in range(300):
            await trio.lowlevel.checkpoint()
            steps.append(1)

    def make():
        thread = threading.Thread(target=trio.run, args=(beside,))
        thread.start()
        thread.join()
        return calls()

    assert shake(make, 2).ok
    assert len(steps) % 300 == 0


def test_a_module_may_wake_its_consumer_late():
    """As in a real run, a module that waits for completions polls a generator, which wakes it."""

    def make():
        return ps.pipe(script(60.0, 0, 60.0, 1), ps.count_by_key(), ps.collect())

    normal, late = (Simulation(make, Choices(script=each)).run() for each in ({}, {("wake script", 0): 5}))
    assert late.story() == ["script woke the module downstream 30 s late"]
    assert late.result == normal.result == [(0, 1), (1, 1)]
    assert late.moments[-1] == normal.moments[-1] + 30
