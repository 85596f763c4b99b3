"""Running the flights job as its users do, in a process of its own."""

import os
import subprocess
import sys
import time
from pathlib import Path

import attrs
import pytest

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "tutorials.flights"]


@attrs.frozen
class Finished:
    folder: Path
    code: int
    out: str
    err: str

    @property
    def days(self):
        return sorted(path.name for path in self.folder.glob("*.jsonl"))

    @property
    def leftovers(self):
        """Whatever is there beside days' files and the page."""
        return sorted(
            path.name for path in self.folder.iterdir() if path.suffix != ".jsonl" and path.name != "index.html"
        )


def _environment():
    return {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.fixture(scope="session")
def flights_job():
    """Run the job to its end."""

    def run(folder, *options, timeout=300):
        done = subprocess.run(
            [*COMMAND, "--out", str(folder), *options],
            cwd=ROOT,
            env=_environment(),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        return Finished(folder, done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture(scope="session")
def flights_job_stopped():
    """Run the job until some days' files are there, signal it, and say how it ended and how long that took."""

    def run(folder, signal, days=3, timeout=300):
        process = subprocess.Popen(
            [*COMMAND, "--out", str(folder)],
            cwd=ROOT,
            env=_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            deadline = time.monotonic() + timeout
            while len(list(folder.glob("*.jsonl"))) < days:
                assert process.poll() is None, process.communicate()
                assert time.monotonic() < deadline, "no days' files came"
                time.sleep(0.01)
            process.send_signal(signal)
            signalled = time.monotonic()
            out, err = process.communicate(timeout=300)
        finally:
            process.kill()
            process.wait()
        return Finished(folder, process.returncode, out, err), time.monotonic() - signalled

    return run


@pytest.fixture(scope="session")
def year_of_flights(flights_job, tmp_path_factory):
    """The whole job, once a session."""
    return flights_job(tmp_path_factory.mktemp("flights") / "delays")
