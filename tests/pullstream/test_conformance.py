"""The conformance kit finds broken modules, passes correct ones, and can be used in a test and in a shell."""

import os
import re
import shlex
import signal
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import attrs
import pytest
import trio

import pullstream as ps
from pullstream.__main__ import main
from pullstream.conformance import Cell, ConformanceError, Subject, conformance, kills
from pullstream.conformance.trial import Trial
from tests.programs import started
from tests.pullstream.judged import wrong


def taking_many(mistake):
    """A transformer that takes multi-time batches whole, and makes a mistake."""

    @ps.transformer
    class Mistaken(ps.authoring.Kernel):
        async def produce(self, limit):
            batch = await self.upstream.ask_many(limit)
            return batch if batch is ps.DONE else mistake(batch)

    return Mistaken


MISTAKEN = {
    "first time for all": taking_many(lambda batch: ps.Batch(batch.times[0], batch.values)),
    "least time for all": taking_many(lambda batch: ps.Batch(min(batch.times), batch.values)),
    "loses runs": taking_many(lambda batch: next(batch.runs())),
}


@ps.source
class Absent(ps.authoring.Kernel):
    async def acquire(self):
        raise OSError("not there")

    async def produce(self, limit):
        return ps.DONE


@ps.source
async def misspelt(ctx):
    """Its second value uses an undefined name."""
    yield 1
    yield undefined  # noqa: F821 - the slip under test


class NotAsync(ps.authoring.Kernel):
    def produce(self, limit):
        return ps.DONE


HINTED = "'await' expression\"); a kernel's produce is awaited: write `async def produce(self, limit):`"


@pytest.mark.parametrize(
    ("source", "raised"), [(Absent, "OSError"), (misspelt, "NameError"), (ps.source(NotAsync), HINTED)]
)
def test_a_source_that_fails_by_itself_is_found(source, raised):
    """It has no upstream to blame; a source that is meant to fail is declared so."""
    report = conformance(source, cells=50)

    assert any(raised in finding.message and "failed by itself" in finding.message for finding in report.findings)
    assert "its input is" not in str(report)
    assert conformance(ps.fail(ValueError("as asked for")), cells=50, absorbs=True, silent=True).ok


def test_findings_can_be_replayed():
    subject = Subject("swallows", wrong.Swallows)
    found = conformance(subject, cells=50).findings[0]

    again = conformance(subject, replay=str(found.cell))

    assert again.cells.total() == 1
    assert [(finding.rule, finding.cell) for finding in again.findings] == [(found.rule, found.cell)]
    with pytest.raises(ConformanceError, match="swallows"):
        again.check()
    assert conformance(subject, replay="way=end values=2").ok


def test_cells_round_trip_as_text():
    trial = Trial(Subject("map", ps.map, around=True))
    assert all(Cell.parse(str(cell)) == cell for cell in trial.cells)
    assert str(Cell(values=4, way="abort", moment=0.05)) == "values=4 limit=1 way=abort moment=0.05"
    for text in ("values", "value=3", "way=up", "again=yes", "values=two", "moment=late"):
        with pytest.raises(ValueError, match=f"a cell .*{text}'"):
            Cell.parse(text)
    for text in ("limit=0", "values=-1", "position=-2"):
        with pytest.raises(ValueError, match=f"'{text.partition('=')[0]}' must be >= "):
            Cell.parse(text)


def test_settings_that_run_nothing_are_refused():
    """A test without a cell would pass, and a limit of no seconds would fail every module."""
    for setting in ({"cells": 0}, {"cells": -1}, {"seeds": 0}, {"limit": 0}, {"limit": -1.5}):
        ((name, number),) = setting.items()
        with pytest.raises(ValueError, match=rf"a positive number for {name}, or None, but got {number}"):
            conformance(ps.take(2), **setting)
    with pytest.raises(ps.CompositionError, match="at least one module"):
        conformance()
    with pytest.raises(TypeError, match=r"has no argument 'flushs'; did you mean flushes=\?"):
        conformance(ps.take(2), flushs=True)
    for setting in ({"number": 0}, {"limit": 0}):
        with pytest.raises(ValueError, match="positive numbers, but got number="):
            kills(ps.collect, dict, **setting)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("broken", MISTAKEN.values(), ids=MISTAKEN)
def test_wrong_multi_time_batches_are_explained(broken):
    """The default sample finds the mistake, whatever its seed, and nothing else."""
    findings = conformance(broken).findings
    assert {"batching"} <= {finding.rule for finding in findings} <= {"batching", "R8"}
    assert all(finding.cell.many for finding in findings)
    assert any("in a multi-time answer each value is at its own time" in finding.message for finding in findings)


@ps.transformer
async def drops_repeats(upstream, ctx):
    """Drops repeats at the same time, and yields an empty batch if all values of one are repeats."""
    seen = {}
    async for batch in ctx.batches(upstream):
        before = seen.setdefault(batch.time, set())
        new = [value for value in dict.fromkeys(batch.values) if value not in before]
        before.update(new)
        yield ps.Batch(batch.time, new)


@ps.transformer
async def drops_repeats_of_a_batch(upstream, ctx):
    """Drops repeats within a batch, and knows nothing of earlier batches."""
    async for batch in ctx.batches(upstream):
        yield ps.Batch(batch.time, list(dict.fromkeys(batch.values)))


@ps.transformer
async def refuses_repeats(upstream, ctx):
    """Fails when a value is repeated, like a module that builds an index."""
    seen = set()
    async for batch in ctx.batches(upstream):
        for value in batch.values:
            if value in seen:
                raise LookupError(f"{value} again")
            seen.add(value)
            yield ps.Batch(batch.time, [value])


@pytest.mark.parametrize(("broken", "rule"), [(drops_repeats, "R2"), (drops_repeats_of_a_batch, "batching")])
def test_every_sample_has_equal_values(broken, rule):
    """The default sample finds faults that only equal values show, and reports the simplest case."""
    findings = conformance(broken).findings

    assert {finding.rule for finding in findings} == {rule}
    assert all(finding.cell.alike for finding in findings)
    assert findings[0].cell.values == 2
    assert "2 values, some of them equal" in findings[0].scene


@ps.transformer
async def names(upstream, ctx):
    async for batch in ctx.batches(upstream):
        yield ps.Batch(batch.time, [record["name"] for record in batch.values])


@ps.sink
async def longest(upstream, ctx):
    best = ""
    async for batch in ctx.batches(upstream):
        best = max([best, *batch.values], key=len)
    return best


@ps.source
async def goes_back(ctx):
    yield ps.Batch(2, "a")
    yield ps.Batch(1, "b")


@pytest.mark.parametrize(
    ("module", "rule", "hint", "options"),
    [
        (refuses_repeats, "failure", "differ=True", {"differ": True}),
        (names, "failure", "values=lambda n", {"values": lambda n: {"name": f"name {n}"}}),
        (longest, "failure", "values=lambda n", {"values": str}),
        (goes_back, "R12", "yield in time order, or hold the earlier time before you continue", None),
    ],
)
def test_a_finding_says_what_to_do(module, rule, hint, options):
    finding = conformance(module, cells=60).findings[0]
    assert finding.rule == rule
    assert hint in finding.hint
    assert options is None or conformance(module, cells=60, **options).ok


def test_non_modules_are_refused():
    with pytest.raises(ps.CompositionError, match="pipeline"):
        conformance(ps.pipe(ps.empty(), ps.drain()))
    with pytest.raises(ps.CompositionError, match="17"):
        conformance(17)


@pytest.mark.parametrize(("error", "expected"), [("OSError", "here"), ("PullstreamError", "Local: here")])
def test_errors_leave_the_other_process_with_their_line(error, expected):
    class Local(Exception):
        """An exception that cannot be sent."""

    def fails():
        raise OSError("here") if error == "OSError" else Local("here")

    with pytest.raises((OSError, ps.PullstreamError), match=expected) as caught:
        conformance(fails)
    assert type(caught.value).__name__ == error
    assert "test_conformance.py:" in caught.value.__notes__[0]


async def test_cells_that_simplify_a_finding_report_progress():
    """The time of each counts by itself, as for other cells; they do not count as further cells."""
    trial = Trial(Subject("one batch", wrong.OneBatch))
    found = await trial.run(Cell(values=5, limit=2, timed=True))
    assert found is not None
    tried = []
    simplest = await trial.simplest(found, tried.append)
    assert simplest.cell in tried or simplest == found
    assert tried


async def test_inside_trio_it_says_what_to_do():
    with pytest.raises(ps.PullstreamError, match="plain function"):
        conformance(ps.take(1))


# ---- the command line


def test_the_command_prints_a_table(capsys):
    """A ready-made module by its name, a factory and a blueprint by their place: a row each, and exit code 0."""
    assert main(["check", "--cells", "5", "take 2", "pullstream:collect", "pullstream:filter"][:4]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[1].split() == ["take", "2", "5", "0", "ok"]


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A folder with the files of an author, where the command is called."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("own")
def test_the_command_draws_its_findings(capsys):
    assert main(["check", "--cells", "20", "own:Loud"]) == 1
    out = capsys.readouterr().out
    assert "R2" in out
    assert "own:Loud, own.py:3" in out
    assert "D: ask1(Ans1" in out
    again = next(line for line in out.splitlines() if "Again:" in line)
    words = shlex.split(again.partition("pullstream ")[2])
    assert words[:2] == ["check", "own:Loud"]
    assert main(words) == 1
    assert "R2 x 1" in capsys.readouterr().out


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nowhere", "not a ready-made module"),
        ("nowhere.py:every", "no file nowhere.py"),
        ("no.such.package:name", "cannot be imported"),
        ("pullstream:nothing", "has no 'nothing'"),
        ("pullstream:__all__", "neither a blueprint"),
        ("tests.sampling:nothing", "has no 'nothing'; it has "),
        ("pullstream:map", "around=True"),
        ("builtins:int", "but got 0"),
        # Errors raised while a file is imported or makes a module are reported with their line.
        ("divides.py:made", "'divides.py' cannot be imported: it raises ZeroDivisionError: division by zero"),
        ("exits.py:made", "it raises SystemExit: 3, at exits.py:1"),
        ("misspelt.py:made", "NameError: name 'unknown' is not defined, at misspelt.py:2"),
        ("raising.py:strange", "Wrong: a message of one\n  raised at raising.py:9"),
        ("raising.py:divided", "ZeroDivisionError: division by zero\n  raised at raising.py:12"),
        ("raising.py:missing", "check: KeyError: 'name'\n  raised at raising.py:15"),
    ],
)
def test_the_command_explains_bad_targets(capsys, name, expected):
    assert main(["check", name]) == 2
    assert expected in capsys.readouterr().err


OWN = """
import pullstream as ps
@ps.transformer
class Loud(ps.authoring.Kernel):
    async def produce(self, limit):
        batch = await self.upstream.ask(limit)
        return batch if batch is ps.DONE else ps.Batch(batch.time, [*batch.values] * 2)

@ps.transformer
async def every(upstream, ctx, number, *, last=False):
    count = 0
    async for batch in ctx.batches(upstream):
        for value in batch.values:
            count += 1
            if (count % number == 0) is last:
                yield ps.Batch(batch.time, [value])

@ps.sink
async def save(upstream, ctx, store):
    async for batch in ctx.batches(upstream):
        for value in batch.values:
            await store(value)

@ps.transformer
async def catches(upstream, ctx):
    async for batch in ctx.batches(upstream):
        try:
            yield ps.Batch(batch.time, [batch.values[9]])
        except IndexError:
            pass


@ps.transformer
async def mixed(upstream, ctx):
    total = 0
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, values):
                ctx.notify_at(time)
                total += sum(values)
            case ps.Completed(time):
                yield ps.Batch(time, [total])
                total = 0
"""
RAISING = """
import pullstream as ps

class Wrong(Exception):
    def __init__(self, one, two):
        super().__init__("a message of one")

def strange():
    raise Wrong(1, 2)

def divided():
    return ps.take(1 / 0)

def missing():
    return ps.take({}["name"])
"""
FILES = {
    "own.py": OWN,
    "raising.py": RAISING,
    "divides.py": "1 / 0",
    "exits.py": "raise SystemExit(3)",
    "misspelt.py": "x = 3\nunknown",
}


NAMES = "tests.pullstream.test_conformance:names"
PER_TIME = "tests.pullstream.common:per_time"
FORGETS = "tests.pullstream.test_messages:waits_for_what_it_never_requested"


@pytest.mark.sampled(6)
@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (["own:every(2)"], 0, "ok"),
        (["own.py:every(3, last=True)"], 0, "ok"),
        (["own:every(10, last=True)"], 2, "no value came out of it in any cell"),
        (["own:every(10, last=True)", "--silent"], 0, "ok"),
        (["own:every"], 2, "put other arguments into the name"),
        (["own:every("], 2, "neither a name nor a call"),
        (["pullstream.conformance.ready:called_back", "--resource"], 0, "ok"),
        ([NAMES, "--values", "lambda n: {'name': n}"], 0, "ok"),
        ([NAMES], 1, "make them with --values 'lambda n: ...'"),
        ([NAMES, "--values", "{'name': 1}"], 2, "a function of a number"),
        ([NAMES, "--values", "vals.py:third"], 2, "--values takes a Python expression"),
        ([NAMES, "--values", "lambda n: 1 / n"], 2, "values(0) raised ZeroDivisionError"),
        ([NAMES, "--values", "third"], 2, "not third: name 'third' is not defined"),
        ([PER_TIME, "--flushes", "--per-time"], 0, "ok"),
        (["pullstream:collect", "--per-time"], 0, "ok"),
        (["own:mixed", "--flushes"], 0, "depends on the values at other times too"),
        (["own:catches"], 2, "It caught IndexError: list index out of range, at own.py:"),
        ([FORGETS, "--flushes"], 2, "so nothing was tested\n  To fix it"),
        ([PER_TIME], 1, "say so with --flushes"),
        (["own:save", "--calls"], 0, "ok"),
        (["pullstream:map", "--around"], 0, "ok"),
        (["pullstream:zip", "--inputs", "2"], 0, "ok"),
        (["pullstream:merge", "--inputs", "2", "--no-ordered"], 0, "ok"),
        (["own:every(2)", "--replay", "values=9 limit=1"], 0, "1 "),
        (["own:every(2)", "--replay", "values"], 2, "name=value"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_everything_works_in_the_shell(capsys, words, code, expected):
    """Arguments of modules and expectations; exit code 2 means that nothing was tested."""
    assert main(["check", *words, "--cells", "60"]) == code
    captured = capsys.readouterr()
    assert expected in captured.out + captured.err
    again = "".join(line for line in captured.out.splitlines() if "Again:" in line)
    assert "_" not in again.replace(words[0], "").replace("per_time", "")


def test_every_field_of_a_subject_has_an_option(capsys):
    with pytest.raises(SystemExit):
        main(["check", "--help"])
    expected = capsys.readouterr().out
    for field in attrs.fields(Subject):
        assert (f"--{field.name.replace('_', '-')}" in expected) == (field.name not in ("name", "make", "site"))


@ps.transformer
async def once_more(upstream, ctx):
    while (batch := await upstream.ask(1)) is not ps.DONE:
        yield batch
    await upstream.ask(1)


@pytest.mark.parametrize(
    ("module", "rule", "line"),
    [(goes_back, "R12", 'yield ps.Batch(1, "b")'), (once_more, "R9", "await upstream.ask(1)")],
)
def test_findings_name_the_line_at_fault(module, rule, line):
    report = conformance(Subject("module", module, flushes=True), cells=40)
    found = next(finding for finding in report.findings if finding.rule == rule)
    file, _, number = found.place.rpartition(":")
    assert Path(file).read_text().splitlines()[int(number) - 1].strip() == line


@ps.transformer
async def reads_in_a_task(upstream, ctx):
    """Its task raises what upstream raised: when the module is closed, if that comes first."""
    send, receive = trio.open_memory_channel(0)

    async def read():
        async with send:
            while (batch := await upstream.ask(1)) is not ps.DONE:
                hold = ExitStack()
                hold.enter_context(ctx.hold(batch.time))
                await send.send((batch, hold))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        async for batch, hold in receive:
            yield batch
            hold.close()


def test_confirming_an_ending_with_a_failure_breaks_r8():
    """The exception is upstream's, so "a module raises only what its inputs raised" would not explain it."""
    module = Subject("module", reads_in_a_task, grows=True)
    finding = conformance(module, replay="values=1 ending=failure limit=1 way=abort position=1").findings[0]
    assert finding.rule == "R8"
    assert "confirmed with SourceFailed" in finding.message
    assert "raise it where the module answers" in finding.hint


@ps.transformer
async def never_rests(upstream, ctx):
    async for batch in ctx.batches(upstream):
        while True:
            await trio.lowlevel.checkpoint()
        yield batch


def test_a_spinning_module_is_not_blamed_on_the_kit_s_caller():
    """It may be stopped while none of its lines runs; the line that called the kit is not at fault."""
    finding = conformance(Subject("module", never_rests), replay="values=1", limit=0.5).findings[0]
    assert finding.rule == "spin"
    assert "it is in test_" not in finding.message
    assert "look at the line" not in str(finding)  # it may have none


STOPPED = """
import time, pullstream as ps
from pullstream.conformance import conformance

@ps.transformer
async def dozes(upstream, ctx):
    async for batch in ctx.batches(upstream):
        print("dozes", flush=True)
        time.sleep(0.5)
        yield batch

print(conformance(dozes, replay="values=1", limit=1).ok)
"""


@pytest.mark.slow
def test_time_while_stopped_does_not_count():
    with started("-c", STOPPED, start_new_session=True) as program:
        assert program.stdout.readline() == "dozes\n"
        os.killpg(program.pid, signal.SIGSTOP)
        time.sleep(1.5)
        os.killpg(program.pid, signal.SIGCONT)
        assert program.stdout.read().endswith("True\n")


@ps.transformer
async def aborts(upstream, ctx):
    async for batch in ctx.batches(upstream):
        for value in batch.values:
            if value == 3:
                await upstream.abort()
                return
            yield ps.Batch(batch.time, [value])


@pytest.mark.parametrize("again", ["position=1", "position=0 moment=0.0"])
def test_a_module_may_abort_its_upstream_before_it_is_sent_an_error(again):
    """It ends by itself (R7), and runs ahead of the asks: the source was aborted already, without the error."""
    report = conformance(aborts, replay=f"values=2 limit=1000 way=error {again}", seeds=4)
    assert report.ok, report.findings[0]


@ps.transformer
async def follows_events(upstream, ctx):
    async for event in ctx.events(upstream):
        if isinstance(event, ps.Batch):
            ctx.notify_at(event.time)
        else:
            yield ps.Batch(event.time, [1])


@ps.transformer
async def swallows(upstream, ctx):
    with suppress(Exception):
        async for batch in ctx.batches(upstream):
            yield batch


@ps.transformer
async def blocks(upstream, ctx):
    async for batch in ctx.batches(upstream):
        time.sleep(0.01)  # noqa: ASYNC251 - the fault
        yield batch


@pytest.mark.parametrize(
    ("module", "options", "expected"),
    [
        (follows_events, {"replay": "values=0 ending=failure limit=1 way=abort moment=0.0", "flushes": True}, []),
        (swallows, {"cells": 60}, ["although its upstream had failed"]),
        (blocks, {"cells": 8}, ["does it block"]),
    ],
)
def test_the_kit_logs_remarks_once_and_only_about_faults(module, options, expected, caplog, monkeypatch):
    """A module aborted while its upstream failed loses nothing; remarks that differ only in numbers are one remark."""
    monkeypatch.setattr("pullstream.conformance.kit.SLOW", 0.008 if module is blocks else 1)
    conformance(Subject("module", module), limit=None, **options)
    assert len(caplog.messages) == len(expected)
    assert all(words in message for words, message in zip(expected, caplog.messages, strict=True))


def test_the_kit_warns_about_blocking_before_the_last_cells(caplog, monkeypatch):
    monkeypatch.setattr("pullstream.conformance.kit.SLOW", 0.008)
    monkeypatch.setattr("pullstream.conformance.kit.EARLY", 4)
    assert conformance(Subject("module", blocks), cells=20).cells["module"] == 20
    (message,) = caplog.messages
    assert int(re.findall(r"for (\d+) cells", message)[0]) < 20
