"""A program is killed at random moments: at the end its tables are those of a run that nobody disturbed."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pullstream import tables
from pullstream.conformance import kills
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


def clear(base):
    for table in (*TABLES, "pullstream_targets", "pullstream_times"):
        base.query(f"DROP TABLE {table}")


@pytest.mark.parametrize("number", [pytest.param(amount(5, 5), id="few"), pytest.param(100, marks=pytest.mark.slow)])
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
        clear(base)
        series += 1
        folder = tmp_path / str(series)
        journal = tmp_path / f"{series}.journal" if series % 2 else None
        here = 0
        while here < min(5, number - killed) and not run(dice.random() * seconds * 0.6, base, folder, journal)[0]:
            here += 1
        killed += here
        assert run(300, base, folder, journal)[0]
        assert contents(base, folder) == expected
    clear(base)


def test_the_kit_kills_it_at_its_steps(base):
    """Before each step and line of the sink; each folder has a table of its own."""

    def of(folder):
        return "t" + folder.parent.name

    def sink(folder):
        return tables.write_rows(base.target, base.name(of(folder)))

    def read(folder):
        if not base.has(of(folder)):
            return {}
        rows = base.query(f'SELECT n FROM "{of(folder)}" ORDER BY n')
        found = {}
        for (n,) in rows:
            found.setdefault(n // 3, []).append(n)
        return found

    report = kills(sink, read, values=lambda n: {"n": n}, number=amount(5, 60)).check()

    assert report.steps > 100
