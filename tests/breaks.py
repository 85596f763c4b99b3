"""Break the code in many places, one at a time, and check that the tests notice each break.

    python -m tests.breaks                  # all breaks, in temporary copies of this checkout
    python -m tests.breaks hold-once -n 1   # some of them
    python -m tests.breaks --list

`breaks.toml` has the breaks. Run them before and after a change of the tests: breaks found before must be found
after. The exit code is 1 if a break was missed, or could not be tried.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Queue
from shutil import copy2, copytree, ignore_patterns
from time import monotonic
from typing import Any

import attrs
from hypothesis import Phase, settings

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "tests/breaks.toml"
FOLDERS = ("pullstream", "timely", "adapters", "tests", "tutorials")

BEGUN = "PULLSTREAM_BREAKS"
"""The environment variable with the path of a file that names the last test to begin."""

FAILED, TIMED_OUT = 1, -1
"""The exit code of pytest after a failed test, and our code for a stopped run."""

RUNNING: set["subprocess.Popen[bytes]"] = set()
"""The running processes, which do not receive Ctrl-C."""


@attrs.frozen
class Break:
    """A change of the code that some test in `tests` must notice."""

    name: str
    file: str
    find: str
    put: str
    breaks: str
    tests: list[str]

    def refused(self, root: Path) -> str:
        """Return the reason why the break cannot be tried in a checkout; empty if it can."""
        missing = [file for file in (self.file, *self.tests) if not (root / file).is_file()]
        if missing:
            return f"there is no {', '.join(missing)}"
        count = (root / self.file).read_text(encoding="utf-8").count(self.find)
        if count != 1:
            return f"its text occurs {count} times in {self.file}, and must occur once:\n{self.find}"
        return "" if self.find != self.put else "it changes nothing"


@attrs.frozen
class Outcome:
    """The outcome of trying one break."""

    name: str
    word: str
    seconds: float
    detail: str

    @property
    def good(self) -> bool:
        """Whether a test has noticed the break."""
        return self.word in ("found", "found, hangs")

    def row(self, width: int) -> str:
        """Return the line of the table."""
        return f"{self.name:{width}}  {self.word:12}  {self.seconds:5.1f}  {self.detail}"


def pytest_configure() -> None:
    """Make Hypothesis generate the same examples every time, without shrinking them."""
    if BEGUN in os.environ:
        settings.register_profile("breaks", phases=[Phase.explicit, Phase.generate], database=None)
        settings.load_profile("breaks")


def pytest_runtest_logstart(nodeid: str) -> None:
    """Record the test that begins: pytest loads this file as a plugin while a break is tried."""
    if BEGUN in os.environ:
        Path(os.environ[BEGUN]).write_text(nodeid, encoding="utf-8")


def load(table: Path = TABLE) -> list[Break]:
    """Read the table."""
    return [Break(name, **row) for name, row in tomllib.loads(table.read_text(encoding="utf-8")).items()]


def copied(target: Path) -> Path:
    """Copy the project as it stands."""
    target.mkdir(exist_ok=True)
    for path in ROOT.iterdir():
        if path.is_file():
            copy2(path, target)
        elif path.name in FOLDERS:
            copytree(path, target / path.name, ignore=ignore_patterns("__pycache__"))
    return target


@contextmanager
def applied(each: Break, root: Path) -> Generator[None]:
    """Apply a break to a copy within the context."""
    path = root / each.file
    whole, status = path.read_text(encoding="utf-8"), path.stat()
    path.write_text(whole.replace(each.find, each.put), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(whole, encoding="utf-8")
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        # Python matches a cached file with its source only by size and second.
        for cached in path.parent.glob(f"__pycache__/{path.stem}.*"):
            cached.unlink()


def tried(root: Path, tests: Sequence[str], limit: float) -> tuple[int, str, str]:
    """Run tests up to the first failure; return the exit code, the last test to begin, and pytest's output."""
    begun = root.with_suffix(".begun")
    begun.write_text("", encoding="utf-8")
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "tests.breaks", "--hypothesis-seed=0"]
    code, printed = ran(root, ["pytest", *options, *tests], limit, {BEGUN: str(begun)})
    return code, begun.read_text(encoding="utf-8"), printed


def ran(root: Path, module: Sequence[str], limit: float, environment: Mapping[str, str]) -> tuple[int, str]:
    """Run a module with arguments in a copy; return its exit code and output."""
    with (
        tempfile.TemporaryFile() as output,
        subprocess.Popen(
            [sys.executable, "-m", *module],
            cwd=root,
            env={**os.environ, "PYTHONPATH": str(root), **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        RUNNING.add(process)
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            code = TIMED_OUT
            end(process)
        finally:
            RUNNING.discard(process)
        output.seek(0)
        return code, output.read().decode(errors="replace")


def end(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process and the processes it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def outcome(each: Break, root: Path, limit: float) -> Outcome:
    """Try a break in a copy; a test counts only if it passes without the break."""
    started = monotonic()
    with applied(each, root):
        code, test, printed = tried(root, each.tests, limit)
    seconds = monotonic() - started
    if code == 0:
        return Outcome(each.name, "MISSED", seconds, f"by {' '.join(each.tests)}: {each.breaks}")
    if code not in (FAILED, TIMED_OUT) or not test:
        last = printed.strip().splitlines()[-1:]
        return Outcome(each.name, "NOT TRIED", seconds, f"pytest ended with code {code}: {' '.join(last)}")
    without, *_ = tried(root, [test], limit)
    if without != 0:
        return Outcome(each.name, "NOT TRIED", seconds, f"{test} also fails without the break")
    return Outcome(each.name, "found" if code == FAILED else "found, hangs", seconds, test)


def main(
    prog: str,
    description: str,
    table: Sequence[Break],
    try_one: Callable[[Any, Path, float], Outcome],
    limit: float,
) -> int:
    """Run the command for a table: try the named breaks, or all."""
    parser = argparse.ArgumentParser(prog=f"python -m {prog}", description=description)
    parser.add_argument("names", nargs="*", metavar="NAME", help="breaks to try; by default all")
    parser.add_argument("--list", action="store_true", help="list the breaks, and try none")
    parser.add_argument("--limit", type=float, default=limit, help=f"seconds for each break (default: {limit})")
    parser.add_argument("-n", dest="workers", type=int, default=2, help="breaks tried at once (default: 2)")
    given = parser.parse_args()
    breaks = {each.name: each for each in table}
    if unknown := set(given.names) - set(breaks):
        parser.error(f"there is no break {', '.join(sorted(unknown))}: see --list")
    chosen = [breaks[name] for name in given.names or breaks]
    if refused := {each.name: reason for each in chosen if (reason := each.refused(ROOT))}:
        for name, reason in refused.items():
            print(f"{name}: {reason}", file=sys.stderr)
        return 1
    width = max(len(each.name) for each in chosen)
    if given.list:
        print("\n".join(f"{each.name:{width}}  {each.file}: {each.breaks}" for each in chosen))
        return 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.workers) as workers:
        copies = Queue[Path]()
        for number in range(given.workers):
            copies.put(copied(Path(folder) / f"copy-{number}"))

        def one(each: Break) -> Outcome:
            root = copies.get()
            try:
                found = try_one(each, root, given.limit)
            finally:
                copies.put(root)
            print(found.row(width), flush=True)
            return found

        try:
            outcomes = [*workers.map(one, chosen)]
        except BaseException:
            workers.shutdown(wait=False, cancel_futures=True)
            for process in [*RUNNING]:
                end(process)
            raise
    good = sum(found.good for found in outcomes)
    print(f"{good} of {len(outcomes)} found, {sum(found.seconds for found in outcomes):.0f} s of tests")
    return int(good < len(outcomes))


if __name__ == "__main__":
    sys.exit(main("tests.breaks", "Break the code; tests must notice.", load(), outcome, limit=120))
