"""A program is killed at random moments: at the end its tables are those of a run that nobody disturbed."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.sampling import amount

PROGRAM = Path(__file__).with_name("killable.py")
TABLES = {"sales": "day, number", "latest": "item", "counts": "day, item"}


def run(seconds, base, folder, journal=None):
    """Run the program, and kill it so many seconds after it has begun; return whether it finished, and its seconds."""
    schema = getattr(base, "schema", "")
    command = [sys.executable, str(PROGRAM), base.target, schema, str(folder), *([str(journal)] if journal else [])]
    here = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    with subprocess.Popen(command, env=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        begun = time.monotonic()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
        _, errors = process.communicate()
        assert process.returncode in {0, -9}, errors
        return process.returncode == 0, time.monotonic() - begun


def contents(base, folder):
    found = {table: base.query(f"SELECT * FROM {table} ORDER BY {order}") for table, order in TABLES.items()}
    return found | {path.name: path.read_text() for path in folder.glob("*.jsonl")}


@pytest.mark.parametrize("number", [pytest.param(2, id="few"), pytest.param(100, marks=pytest.mark.slow)])
def test_a_killed_program_leaves_the_same_tables(base, number, tmp_path):
    """With a journal in every second series; late rows, upserts, and files beside tables."""
    whole = tmp_path / "whole"
    finished, seconds = run(300, base, whole)
    assert finished
    expected = contents(base, whole)
    assert len(expected["sales"]) > 400
    assert len(expected["latest"]) == 5
    dice = random.Random(number)
    killed = series = 0
    while killed < number:
        base.clear(*TABLES)
        series += 1
        folder = tmp_path / str(series)
        journal = tmp_path / f"{series}.journal" if series % 2 else None
        here = 0
        while here < min(5, number - killed) and not run(dice.random() * seconds * 0.6, base, folder, journal)[0]:
            here += 1
        killed += here
        assert run(300, base, folder, journal)[0]
        assert contents(base, folder) == expected
    base.clear(*TABLES)


def test_the_kit_kills_it_at_its_steps(base):
    """Before each step and line of the sink; in a process of its own, as some drivers do not survive a fork."""
    command = [sys.executable, "-m", "tests.adapters.tables.kit", base.kind, base.target, str(amount(2, 60))]
    report = subprocess.run(command, check=False, capture_output=True, text=True, timeout=1800)

    assert report.stdout.endswith("ok\n"), report.stdout + report.stderr
    assert int(report.stdout.split()[3]) > 100
