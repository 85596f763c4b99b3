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


@pytest.fixture(scope="session")
def flights_job():
    """Run the job to its end, or until some days' files are there and a signal ends it."""

    def run(folder, *options, signal=None, days=3, timeout=300):
        process = subprocess.Popen(
            [*COMMAND, "--out", str(folder), *options],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            deadline = time.monotonic() + timeout
            while signal is not None and len(list(folder.glob("*.jsonl"))) < days:
                assert process.poll() is None, process.communicate()
                assert time.monotonic() < deadline, "no days' files came"
                time.sleep(0.01)
            if signal is not None:
                process.send_signal(signal)
            out, err = process.communicate(timeout=timeout)
        finally:
            process.kill()
            process.wait()
        return Finished(folder, process.returncode, out, err)

    return run


@pytest.fixture(scope="session")
def year_of_flights(flights_job, tmp_path_factory):
    """The whole job, once a session."""
    return flights_job(tmp_path_factory.mktemp("flights") / "delays")
