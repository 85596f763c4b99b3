"""A seed gives the same run and the same report, byte for byte, on every machine and in every process."""

import os

import pullstream as ps
from tests.programs import ROOT, printed
from tests.pullstream.shake.scenes import slowly


def sets():
    """The order within each set depends on the process, its size on the schedule."""
    together = ps.map_batches(lambda values: [{*map(str, values)}])
    return ps.pipe(ps.values(range(12), time=lambda n: n // 4), ps.map_async(slowly, 2), together, ps.collect())


def once(folder):
    """A pipeline whose failure names a file."""

    def write(time, values):
        if (path := folder / str(time)).exists():
            raise RuntimeError(f"{path} exists, and {values} are lost")
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT))

    return ps.pipe(ps.values(range(4), time=lambda n: n // 2), ps.at_completion(write))


PROGRAM = """
import hashlib
from pullstream.shake import shake
from pullstream.shake.choices import Choices
from pullstream.shake.lives import Lives, folder_for
from tests.pullstream.shake.test_killed import rows
from tests.pullstream.shake.test_same_bytes import once, sets
from tests.pullstream.shake.scenes import calls, dealt, pushed, threads
from tests.pullstream.shake.test_shake import races

for make in (calls, dealt, threads, sets, pushed, rows):
    with folder_for(journal=make is rows) as folder:
        lives = Lives(make, folder)
        lives.undisturbed("nothing" if make is sets else "auto", ())
        for seed in range(2):
            run, _ = lives.run(Choices(seed), seed)
            print(hashlib.sha256(f"{run.trace}{run.story()}{run.files}".encode()).hexdigest())
for make, seeds in ((races, 2), (sets, 4), (once, 2)):
    print(shake(make, seeds, journal=make is once))
"""

ELSEWHERE = {
    "PYTHONHASHSEED": "2",
    "TZ": "Asia/Kathmandu",
    "LC_ALL": "C",
    "PYTHONUTF8": "0",
    "PYTHONCOERCECLOCALE": "0",
    "HOME": "/nowhere",
    "USER": "nobody",
    "LOGNAME": "nobody",
    "PYTHONMALLOC": "debug",
    "PYTHONOPTIMIZE": "1",
}
"""Settings that differ between machines and processes, as environment variables."""


def output(folder, settings, *, cores=None):
    """Run the program in its own process, and return its output."""
    folder.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "1", "TMPDIR": str(folder), **settings}
    confined = None if cores is None else lambda: os.sched_setaffinity(0, cores)
    return printed("-c", PROGRAM, cwd=folder, env=environment, preexec_fn=confined)


def test_a_seed_gives_the_same_bytes(tmp_path):
    first = output(tmp_path / "here", {})

    assert len(set(first.split())) > 20
    assert first.count("\nseed ") == 3
    assert output(tmp_path / "in another folder", ELSEWHERE, cores={min(os.sched_getaffinity(0))}) == first
