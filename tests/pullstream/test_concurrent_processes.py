"""`map_process`: functions in processes, none of which is ever left behind. Real processes, so real time."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest
import trio

import pullstream as ps
from tests.programs import python, started, until
from tests.pullstream.common import finish, until_failure

HELPERS = """
import os, signal

class Odd(Exception):
    def __init__(self, a, b):
        super().__init__(f"{a} {b}")

def odd(n):
    raise Odd(n, "cannot be unpickled")

def pid(_):
    return os.getpid()

def hang(path):
    new = f"{path}.{os.getpid()}"
    with open(new, "w") as file:
        file.write(str(os.getpid()))
    os.rename(new, path)
    while True:
        pass

def picky(n):
    if n == 2:
        raise ValueError(n)
    return os.getpid()

def leave(n):
    os._exit(n)

def forks(n):
    return n if os.fork() else "child"

def handler(_):
    return signal.getsignal(signal.SIGINT) is signal.SIG_IGN
"""

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are counted in /proc")


@pytest.fixture
def helpers(tmp_path, monkeypatch):
    """A module that another process can import as well."""
    name = f"helpers_{os.getpid()}_{time.monotonic_ns()}"
    (tmp_path / f"{name}.py").write_text(HELPERS)
    monkeypatch.syspath_prepend(tmp_path)
    return import_module(name)


def children() -> set[int]:
    """The processes that this one has started and not reaped."""
    return {int(child) for path in Path("/proc/self/task").glob("*/children") for child in path.read_text().split()}


@pytest.fixture(autouse=True)
def _none_is_left():
    before = children()
    yield
    assert children() == before, "a process was left behind"


async def pid_in(path, program=None):
    """The process id that a worker, of this program or of another one, writes to a path."""
    await until(lambda: path.exists() or (program and program.poll() is not None))
    assert path.exists(), program.stdout.read()
    return int(path.read_text())


def test_processes_are_reused_and_limited(helpers):
    pids = set(ps.run(ps.pipe(ps.values(range(40)), ps.map_process(helpers.pid, 2), ps.collect())))
    assert 1 <= len(pids) <= 2
    assert os.getpid() not in pids


async def test_no_process_starts_before_a_call(helpers):
    """Neither composing nor opening starts a process, only a call does (R10)."""
    pipeline = ps.pipe(ps.empty(), ps.map_process(helpers.pid, 2), ps.on_end(lambda _: None))
    before = children()

    async with pipeline.open() as running:
        await running.result()
        assert children() == before


def test_exceptions_arrive_with_their_traceback_as_a_note(helpers):
    """Earlier results are delivered, and the note says where in the other process it was raised (R8)."""
    calls = ps.pipe(ps.values(range(5)), ps.map_process(helpers.picky, 2))
    got, failure = until_failure(ValueError, calls, match="2", check=True)
    assert len(got) == 2
    notes = "\n".join(failure.__notes__)
    assert "in the worker process:\nTraceback" in notes
    assert "in picky" in notes
    assert "raised in map_process, composed at" in notes


def test_policies_for_a_value_that_fails(helpers):
    """`on_error` works as in map_async, also for a worker that died; another one takes the values after it."""
    picky = ps.map_process(helpers.picky, 2, on_error="skip")
    assert len(ps.run(ps.pipe(ps.values(range(5)), picky, ps.collect()))) == 4
    leave = ps.map_process(helpers.leave, 1, on_error="result")
    first, second = ps.run(ps.pipe(ps.values([3, 4]), leave, ps.collect()))
    assert "exit code 3 while it worked on 3" in str(first.error)
    assert isinstance(second.error, ps.errors.WorkerDied)


SCRIPT = """
import sys
import pullstream as ps

FACTOR = int(sys.argv[1])

class Price:
    def __init__(self, amount):
        self.amount = amount

def doubled(price):
    return Price(price.amount * FACTOR)

def main():
    prices = ps.values([Price(1), Price(2)])
    print([price.amount for price in ps.run(ps.pipe(prices, ps.map_process(doubled, 2), ps.collect()))])

{guard}main()
"""


GUARD = 'if __name__ == "__main__": '


def run_script(tmp_path, guard, *how):
    script = SCRIPT.format(guard=guard)
    (tmp_path / "job.py").write_text(script)
    return python(*(how or ["job.py"]), "2", cwd=tmp_path, input=script)


@pytest.mark.parametrize("how", [(), ("-m", "job")], ids=["as a file", "as a module"])
def test_functions_and_classes_of_the_script_work(tmp_path, how):
    """Workers import the script, as in `multiprocessing`, with the arguments of the program."""
    done = run_script(tmp_path, GUARD, *how)
    assert (done.stdout, done.returncode) == ("[2, 4]\n", 0), done.stderr


@pytest.mark.skipif(find_spec("cloudpickle") is not None, reason="cloudpickle sends the function itself")
@pytest.mark.parametrize(
    ("guard", "how", "words"),
    [
        (GUARD, ["-"], ["CompositionError: map_process()", "doubled"]),
        ("", [], ['under `if __name__ == "__main__":`']),
    ],
    ids=["piped", "runs when it is imported"],
)
def test_a_script_that_workers_cannot_import_is_refused(tmp_path, guard, how, words):
    """There is no file to import; or every worker would start more workers, without end."""
    done = run_script(tmp_path, guard, *how)
    assert done.returncode == 1
    assert [word for word in words if word not in done.stderr] == []


def test_unpicklable_objects_are_refused_by_name(helpers):
    if find_spec("cloudpickle") is None:
        with pytest.raises(ps.CompositionError, match=r"map_process\(\) at .* cannot send .*<lambda>.*cloudpickle"):
            ps.map_process(lambda n: n, 1)
    else:
        factor = 3
        triple = ps.map_process(lambda n: n * factor, 1)
        assert ps.run(ps.pipe(ps.values([1]), triple, ps.collect())) == [3]

    for function, value, message in [
        (open, os.devnull, "its result, a TextIOWrapper, cannot be pickled"),
        (len, (n for n in "abc"), "cannot be sent to another process"),
        (helpers.odd, 1, "it raised Odd.*, which cannot be pickled"),
    ]:
        with pytest.raises(ps.errors.Unpicklable, match=message):
            ps.run(ps.pipe(ps.once(value), ps.map_process(function, 1), ps.collect()))


async def test_a_killed_worker_fails_the_stream_clearly(helpers, tmp_path):
    path = tmp_path / "pid"
    with pytest.raises(
        ps.errors.WorkerDied, match=r"map_process, composed at .* killed by signal 9 while it worked on .*pid"
    ):
        async with ps.pipe(ps.values([str(path)]), ps.map_process(helpers.hang, 1), ps.collect()).open() as running:
            os.kill(await pid_in(path), signal.SIGKILL)
            with trio.fail_after(300):
                await running.result()


def test_a_worker_killed_between_two_calls_is_replaced(helpers):
    def kill(pid):
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        killed.append(pid)

    killed = []
    ps.run(ps.pipe(ps.values(range(3)), ps.map_process(helpers.pid, 1), ps.drain(kill)), limit=1)
    assert len(set(killed)) == 3


def test_the_child_of_a_function_that_forks_answers_nothing(helpers):
    for _ in range(3):
        assert ps.run(ps.pipe(ps.values(range(6)), ps.map_process(helpers.forks, 1), ps.collect())) == [*range(6)]


@pytest.mark.parametrize("way", ["abort under way", "cancel", "never asked", "block fails", "run aborted", "first"])
async def test_no_ending_leaves_a_process(  # noqa: PLR0917 - fixtures
    way, helpers, tmp_path, edge, counting, probe
):
    """However the stream ends while a call computes, the call is killed at once, and the source is released."""
    path = tmp_path / "pid"
    source = ps.pipe(counting(probe, 9), ps.map(lambda n: str(path)), ps.map_process(helpers.hang, 2))
    begun = SimpleNamespace(wait=partial(pid_in, path))
    match way:
        case "block fails":
            with pytest.raises(ZeroDivisionError):
                async with ps.pipe(source, ps.drain()).open():
                    await begun.wait()
                    raise ZeroDivisionError
        case "run aborted":
            async with ps.pipe(source, ps.drain()).open() as running:
                await begun.wait()
                await running.abort()
        case "first":
            fast = ps.pipe(counting(probe, 9), ps.map_process(helpers.pid, 2), ps.first())
            path.write_text(str(await ps.arun(fast)))
        case _:
            async with edge(source) as reader:
                await finish(reader, way, begun)
    if way != "never asked":
        with pytest.raises(ProcessLookupError):
            os.kill(int(path.read_text()), 0)
    assert probe.balanced


def test_workers_ignore_an_interrupt(helpers):
    assert ps.run(ps.pipe(ps.once(1), ps.map_process(helpers.handler, 1), ps.collect())) == [True]


PROGRAM = """
import sys
sys.path[:0] = {path!r}
import pullstream as ps, {name} as helpers
try:
    ps.run(ps.pipe(ps.values([{file!r}]), ps.map_process(helpers.hang, 1), ps.collect()))
except KeyboardInterrupt:
    print("interrupted in order")
"""


def runs(pid):
    """Whether a process runs; one that has ended may still be a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize(
    ("kind", "code", "printed"), [(signal.SIGINT, 0, "interrupted in order\n"), (signal.SIGKILL, -signal.SIGKILL, "")]
)
async def test_an_interrupted_or_killed_program_leaves_no_worker(kind, code, printed, helpers, tmp_path):
    file = tmp_path / "pid"
    program = PROGRAM.format(path=[str(tmp_path), *sys.path], name=helpers.__name__, file=str(file))
    with started("-c", program, stderr=subprocess.STDOUT, start_new_session=True) as process:
        pid = await pid_in(file, process)
        os.killpg(process.pid, kind)
        out, _ = await trio.to_thread.run_sync(partial(process.communicate, timeout=300))
    assert (process.returncode, out) == (code, printed)
    await until(lambda: not runs(pid))
