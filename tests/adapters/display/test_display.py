"""The display of a run that makes progress, waits, fails, stalls, is stopped, and ends."""

import contextlib
import datetime as dt
import io
import logging
import re
import sys
import time
import types

import pytest
import trio

import pullstream as ps
from adapters.display import display, task
from pullstream.incremental import maintain
from pullstream.timely import Product
from tests.programs import printed
from tests.pullstream.common import after, kept
from tests.pullstream.test_stalls_scenes import awaiting

rich_console = pytest.importorskip("rich.console")
cell_len = pytest.importorskip("rich.cells").cell_len


class Paper:
    def __init__(self, *, terminal=False, width=80):
        self.file = io.StringIO()
        self.console = rich_console.Console(
            file=self.file, force_terminal=terminal, width=width, height=24, color_system=None, legacy_windows=False
        )

    @property
    def written(self):
        return self.file.getvalue()

    @property
    def lines(self):
        return self.written.splitlines()

    @property
    def screens(self):
        return [re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\r", "", part) for part in re.split(r"(?=\r\x1b\[2K)", self.written)]


def days(count, first=dt.date(2013, 7, 31)):
    return [first + dt.timedelta(number) for number in range(count)]


def slowly(*times):
    return ps.pipe(ps.values(times, time=lambda time: time), ps.map_async(after(1), 1).named("enrich"))


async def shown(pipeline, *, paper=None, fails=None, **options):
    """Run a pipeline with its display on paper, by default as a log."""
    paper = paper or Paper()
    with contextlib.nullcontext() if fails is None else pytest.raises(fails):
        async with pipeline.open(beside=display(console=paper.console, **options)) as running:
            await running.result()
    return paper


async def test_lines_during_the_run_and_a_table_at_the_end(autojump_clock):
    """Without control codes: at each interval the frontier, completed times and values; the run takes no longer."""
    paper = await shown(ps.pipe(slowly(*days(30)), ps.collect()), every=10.2)
    assert trio.current_time() == pytest.approx(30)
    assert "\x1b" not in paper.written
    assert "\r" not in paper.written
    lines = paper.lines
    assert lines[0].startswith("0:00:10 · at 2013-08-10 · 10 times done · ")
    assert lines[1].startswith("0:00:20 · at 2013-08-20 · 20 times done · ")
    assert lines[2] == "finished in 0:00:30 · 30 times done · 30 values, 1.0/s"
    assert lines[3].split() == ["module", "in", "out", "/s", "busy"]
    assert [line.split()[:3] for line in lines[4:]] == [
        ["values", "30", "1.0"],
        ["enrich", "30", "30"],
        ["collect", "30", "1.0"],
    ]


async def test_modules_with_the_same_name_are_numbered(autojump_clock):
    paper = await shown(ps.pipe(ps.merge(ps.values([1]), ps.values([2])), ps.collect()))
    assert [line.split("  ")[0] for line in paper.lines[2:]] == ["values #1", "values #2", "merge", "collect"]


async def test_a_wait_is_reported_once(autojump_clock):
    """After 5 s without progress, a line shows the busy module and what blocks a time; `shown` formats times."""

    async def stuck(n):
        await trio.sleep(30 if n == 2 else 0)
        return n

    calls = ps.map_async(stuck, 1).named("calls")
    pipeline = ps.pipe(ps.values([2, 3, 4], time=lambda n: n), calls, ps.collect())
    paper = await shown(pipeline, paper=Paper(width=100), every=20, shown=lambda time: f"day {time}")
    assert paper.lines[:3] == [
        "no progress for 5 s: waiting for calls",
        "  calls has not acknowledged a batch at day 2 -> collect",
        "  values may still produce from day 2 -> calls -> collect",
    ]
    assert "· at day 2 ·" in paper.lines[3]
    assert sum("no progress" in line for line in paper.lines) == 1


async def test_a_wait_in_a_program_of_collections_has_nested_names(autojump_clock):
    """The busy operator and its loop, not only the module."""
    one, other, both = Product(0, 1), Product(1, 0), Product(1, 1)

    @ps.transformer
    async def at_their_times(upstream, ctx):
        async for _ in ctx.batches(upstream):
            with ctx.hold(both):
                with ctx.hold(one), ctx.hold(other):
                    # The source has ended, and is no longer shown.
                    await upstream.ask()
                    yield ps.Batch(one, [(("k", 1), 1)])
                    yield ps.Batch(other, [(("k", 2), 1)])
                await trio.sleep(30)
                yield ps.Batch(both, [(("k", 3), 1)])

    def program(numbers):
        return numbers.iterate(lambda found: found.concat(numbers).min()).max()

    source = ps.values([0], time=lambda _: Product(0, 0))
    paper = await shown(ps.pipe(source, at_their_times(), maintain(program), ps.drain()), paper=Paper(width=200))
    assert re.sub(r" at \S*test_display\.py:\d+", "", paper.lines[1]) == (
        "  maintain, iterate() > min(), max() holds (1, 1) -> drain"
    )


async def test_a_stream_without_times_shows_none(autojump_clock):
    paper = await shown(ps.pipe(ps.values(range(15)), ps.map_async(after(1), 1), ps.collect()), every=10.2)
    assert paper.lines[0].startswith("0:00:10 · 11 values, ")


async def test_an_ascii_log_has_only_ascii(autojump_clock):
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    ascii_only = types.SimpleNamespace(console=rich_console.Console(file=file, width=80))
    await shown(ps.pipe(slowly(1, 2), ps.drain()), paper=ascii_only)
    file.flush()
    assert file.buffer.getvalue().startswith(b"finished in 0:00:02 ? 2 times done ? 2 values")


async def test_it_is_redrawn_a_few_times_a_second(autojump_clock):
    paper = await shown(ps.pipe(slowly(1, 2), ps.collect()), paper=Paper(terminal=True))
    assert 8 <= len(paper.screens) <= 12
    assert "0:00:01 · at 2 · 1 time done" in paper.written
    last = paper.screens[-1]
    assert last.startswith("finished in 0:00:02 · 2 times done")
    assert last.endswith("\n")
    assert paper.written.endswith("\x1b[?25h")
    assert "━" not in paper.written


async def test_a_known_total_shows_a_bar(autojump_clock):
    paper = await shown(ps.pipe(slowly(*range(1, 5)), ps.collect()), paper=Paper(terminal=True), times=4)
    for part in ("1 of 4 times done", " 25%", " 50%", " 75%", "━"):
        assert part in paper.written


@pytest.mark.parametrize("width", [20, 40, 80, 200])
async def test_lines_fit_the_terminal(width, autojump_clock):
    @ps.source
    async def one_with_a_long_name_that_says_a_lot_of_what_it_is_for(ctx):
        ctx.status("reading a file in a folder with quite a long name, number 17 of 365")
        yield ps.Batch(dt.date(2013, 7, 31), [1])
        await trio.sleep(10)
        raise ValueError("a message that is quite long, too, for it says all that anybody could wish to know")

    pipeline = ps.pipe(one_with_a_long_name_that_says_a_lot_of_what_it_is_for(), ps.map(str), ps.drain())
    paper = await shown(pipeline, paper=Paper(terminal=True, width=width), fails=ValueError)
    assert max(len(line) for screen in paper.screens for line in screen.splitlines()) <= width
    assert "\n  reading a" in paper.written.replace("\r", "")
    assert "no progress" in paper.written


async def test_wide_letters_take_two_columns(autojump_clock):
    def fail(_):
        raise ValueError("売上" * 50 + "end")

    paper = Paper(terminal=True, width=60)
    await shown(ps.pipe(slowly(1), ps.map(fail).named("毎日の売上"), ps.drain()), paper=paper, fails=ValueError)
    lines = paper.screens[-1].splitlines()
    assert max(map(cell_len, lines)) <= 60
    assert any(line.endswith("売上end") for line in lines)
    ends = [cell_len(line[: line.index("1") + 1]) for line in lines if line.startswith(("enrich", "毎日の売上"))]
    assert ends[0] == ends[1]


async def test_a_low_terminal_shows_the_beginning_and_counts_the_rest(autojump_clock):
    paper = Paper(terminal=True)
    paper.console.height = 10
    many = [ps.skip(0).named(f"step {number}") for number in range(16)]
    await shown(ps.pipe(slowly(1, 2), ps.pipe(*many[:8]), ps.pipe(*many[8:]), ps.collect()), paper=paper)
    *live, last = paper.screens
    assert all(len(screen.splitlines()) <= 10 for screen in live)
    assert "... and 13 more lines" in live[0]
    assert "step 15" in last
    assert "more lines" not in last


def test_prints_and_logs_appear_above_it(monkeypatch):
    """Output of Python is neither lost nor mixed into the display; after the run output is normal again."""
    paper = Paper(terminal=True)
    streams = out, err = [_Terminal(paper.file), _Terminal(paper.file)]
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    handler = logging.StreamHandler(err)
    logger = logging.getLogger("tests.display")
    logger.addHandler(handler)
    try:

        def chatty(n):
            print("a print")
            print("an error", file=sys.stderr)
            logger.warning("a log")
            return n

        pipeline = ps.pipe(ps.values([1]), ps.map(chatty), ps.drain())
        ps.run(pipeline, beside=display(console=paper.console))
    finally:
        logger.removeHandler(handler)
    assert handler.stream is err
    assert [sys.stdout, sys.stderr] == streams
    last = paper.screens[-1]
    assert last.startswith("finished")
    for word in ("a print", "an error", "a log"):
        # On its own line, from which the display was erased.
        assert f"\x1b[2K{word}\n" in paper.written


def test_redirected_output_stays_redirected(monkeypatch):
    paper, out = Paper(terminal=True), io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    ps.run(ps.pipe(ps.values(["data"]), ps.drain(print)), beside=display(console=paper.console))
    assert "data" in out.getvalue()
    assert "data" not in paper.written


class _Terminal(io.TextIOBase):
    def __init__(self, file):
        self._file = file

    def write(self, text):
        return self._file.write(text)

    def isatty(self):
        return True


async def test_in_a_notebook_the_output_is_updated(monkeypatch, autojump_clock):
    def shown_by_ipython(data, *, raw, display_id):
        assert raw
        assert display_id is True
        states.append(data)
        return types.SimpleNamespace(update=update)

    def update(data, *, raw):
        states.append(data)

    states = []
    ipython = types.SimpleNamespace(display=shown_by_ipython)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(display=ipython))
    monkeypatch.setitem(sys.modules, "IPython.display", ipython)
    notebook = types.SimpleNamespace(console=rich_console.Console(force_jupyter=True))
    await shown(ps.pipe(slowly(1, 2), ps.collect()), paper=notebook)
    assert len(states) >= 8
    assert states[4]["text/plain"].startswith("0:00:01 · at ")
    assert states[-1]["text/plain"].startswith("finished in 0:00:02 · 2 times done")
    assert states[-1]["text/html"].startswith("<pre")
    assert ">finished</span>" in states[-1]["text/html"]


async def test_a_failure_is_shown_with_its_time(autojump_clock):
    failing = ps.map(lambda n: n if n < 3 else [][n])
    paper = await shown(ps.pipe(slowly(1, 2, 3, 4), failing, ps.collect()), fails=IndexError)
    assert paper.lines[0].startswith("failed in 0:00:03 · at 3 · 2 times done · ")
    assert paper.lines[1] == "IndexError: list index out of range"


async def test_a_stall_is_shown_in_full(autojump_clock):
    box, paper = [], Paper()
    box.append(ps.pipe(slowly(1), awaiting(box)).open(beside=display(console=paper.console)))
    with pytest.raises(ps.StalledError):
        async with box[0] as running:
            await running.result()
    assert paper.lines[0].startswith("stalled in 0:00:01 · at 1")
    assert "awaiting has not acknowledged a batch at 1, and is the module that waits" in paper.written


async def test_an_abort_shows_stopped(autojump_clock):
    paper = Paper()
    async with ps.pipe(slowly(*days(9)), ps.collect()).open(beside=display(console=paper.console)) as running:
        await trio.sleep(2.5)
        await running.abort()
    assert paper.lines[0].startswith("stopped in 0:00:02 · at 2013-08-02 · 2 times done")


async def test_a_broken_pipe_ends_the_display_and_not_the_run(autojump_clock, capfd):
    class Broken(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    for terminal in (False, True):
        console = rich_console.Console(file=Broken(), force_terminal=terminal)
        async with ps.pipe(slowly(1, 2), ps.collect()).open(beside=display(console=console, every=1)) as running:
            assert await running.result() == [1, 2]
        print("the program's own output")
        assert capfd.readouterr().out == "the program's own output\n"


async def test_a_failing_display_only_warns(autojump_clock):
    with pytest.warns(RuntimeWarning, match="the display failed, .*ZeroDivisionError"):
        await shown(ps.pipe(slowly(1, 2), ps.collect()), paper=Paper(terminal=True), shown=lambda time: 1 / 0)
    assert trio.current_time() == pytest.approx(2)


async def test_skipped_values_have_a_column(autojump_clock):
    paper = await shown(ps.pipe(ps.values("1a2"), ps.map(int, on_error="skip"), ps.collect()))
    assert paper.lines[1].split() == ["module", "in", "out", "skipped", "/s", "busy"]
    assert paper.lines[3].split()[3:6] == ["3", "2", "1"]


async def test_times_count_when_all_sinks_have_completed_them(autojump_clock):
    """The slower of two sinks counts, and each time counts once."""

    paper = await shown(ps.pipe(slowly(*range(10)), ps.tee(ps.collect(), kept([], pause=2))), every=6.1)
    assert "· 2 times done ·" in paper.lines[0]
    assert "· 10 times done ·" in next(line for line in paper.lines if line.startswith("finished"))


async def test_sinks_with_times_of_two_types(autojump_clock):
    numbers = ps.pipe(ps.map_time(lambda day: day.toordinal()), ps.collect())
    paper = await shown(ps.pipe(slowly(*days(3)), ps.tee(ps.collect(), numbers)))
    assert "· 6 times done ·" in paper.lines[0]


async def test_a_resumed_run(tmp_path):
    failing = [True]

    def fails_at_first(n):
        if n == 3 and failing:
            raise LookupError(failing.pop())
        return n

    pipeline = ps.pipe(ps.values([1, 2, 3, 4], time=lambda n: n), ps.map(fails_at_first), ps.drain())

    async def run():
        paper = Paper()
        running = pipeline.open(beside=display(console=paper.console, times=4), journal=tmp_path / "journal")
        with contextlib.suppress(LookupError):
            async with running:
                await running.result()
        return paper

    for title in ("failed", "finished"):
        paper = await run()
        assert paper.lines[0].startswith(title)
        assert ("resumed at 3" in paper.lines) == (title == "finished")
        assert ("of 4 times" in paper.written) == (title == "failed")
    # Run again when nothing is left to do.
    assert (await run()).lines == [
        "finished in 0:00:00",
        "an earlier run finished: its result is returned, and nothing runs again",
    ]


@pytest.mark.parametrize("blocks", [True, False])
def test_a_module_that_blocks_the_run_is_named(blocks, monkeypatch):
    """A function that never waits also blocks the display, so another thread reports it. One that waits does not."""
    monkeypatch.setattr(task, "LOOK", 0.02)
    # A busy machine may keep the run from working for a while.
    monkeypatch.setattr(task, "QUIET", 0.1 if blocks else 0.5)
    paper = Paper()

    def computing(n):
        end = time.monotonic() + 60
        while "blocked" not in paper.written and time.monotonic() < end:
            time.sleep(0.01)
        return n

    work = ps.map(computing) if blocks else ps.map_async(after(1), 1)
    ps.run(ps.pipe(ps.values([1]), work, ps.drain()), beside=display(console=paper.console))
    blocked = re.search(r"computing \(test_display\.py:\d+\) has blocked the run for 0 s", paper.written)
    assert bool(blocked) is blocks
    assert blocks or "blocked the run" not in paper.written


@pytest.mark.parametrize(
    ("compose", "why"),
    [
        (lambda: display(times=0), "times"),
        (lambda: display(times="many"), "times"),
        (lambda: display(shown="date"), "shown"),
        (lambda: display(every=0), "every"),
        (lambda: display(console=sys.stderr), "console"),
        (
            lambda: ps.run(ps.pipe(ps.values("a"), ps.collect()), beside=display),
            r"got display; call it: beside=display\(\)",
        ),
        (
            lambda: ps.pipe(ps.values("a"), display(), ps.collect()),
            r"is display\(\), which is not a module; it runs beside a pipeline: run\(pipeline, beside=display\(\)\)$",
        ),
    ],
)
def test_wrong_arguments_and_places_are_refused(compose, why):
    with pytest.raises(ps.CompositionError, match=why):
        compose()


def test_without_rich_the_error_names_the_extra():
    code = (
        "import sys; sys.modules['rich'] = None\n"
        "from adapters.display import DisplayMissing, display\n"
        "try: display()\n"
        "except DisplayMissing as exc: print(exc)"
    )
    assert printed("-c", code) == "rich is not installed: `pip install 'pullstream[display]'`\n"
