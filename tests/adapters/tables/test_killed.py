"""A program is killed at random moments: at the end its tables are those of a run that nobody disturbed."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adapters.killing import forking
from tests.sampling import amount

PROGRAM = Path(__file__).with_name("killable.py")
DRIVERS = {
    "sqlite": ["pyarrow.compute"], "duckdb": ["duckdb"], "postgresql": ["adbc_driver_postgresql.dbapi"],
    "delta": ["deltalake"], "iceberg": ["pyiceberg.catalog.sql", "pyiceberg.expressions"],
}  # fmt: skip
TABLES = {"sales": "day, number", "latest": "item", "counts": "day, item"}


def contents(base, folder):
    found = {table: base.query(f"SELECT * FROM {table} ORDER BY {order}") for table, order in TABLES.items()}
    return found | {path.name: path.read_text() for path in folder.glob("*.jsonl")}


@pytest.mark.parametrize(
    ("number", "days"), [pytest.param(2, 10, id="few"), pytest.param(100, 40, id="100", marks=pytest.mark.slow)]
)
def test_a_killed_program_leaves_the_same_tables(base, number, days, tmp_path, record_property):
    """With a journal in every second series; late rows, upserts, and files beside tables."""
    # Each of Iceberg's commits copies the metadata of all snapshots some twenty times.
    days = days // 2 if base.kind == "iceberg" else days
    target, schema, whole = base.target, getattr(base, "schema", ""), tmp_path / "whole"
    dice = random.Random(number)
    killed = series = 0
    with forking(PROGRAM, *DRIVERS[base.kind]) as run:
        finished, seconds = run(300, target, schema, whole, days)
        assert finished
        expected = contents(base, whole)
        assert len(expected["sales"]) > 10 * days
        assert len(expected["latest"]) == 5
        while killed < number:
            base.clear(*TABLES)
            series += 1
            folder = tmp_path / str(series)
            journal = [tmp_path / f"{series}.journal"] if series % 2 else []
            arguments = [target, schema, folder, days, *journal]
            here = 0
            while here < min(5, number - killed) and not run(dice.random() * seconds * 0.6, *arguments)[0]:
                here += 1
            killed += here
            assert run(300, *arguments)[0]
            assert contents(base, folder) == expected
    base.clear(*TABLES)
    record_property(
        "kills", f"{killed} kills in {series} series, seed {number}; {days} days, an undisturbed run {seconds:.1f} s"
    )


def test_the_kit_kills_it_at_its_steps(base):
    """Before each step and line of the sink; in a process of its own, as some drivers do not survive a fork."""
    command = [sys.executable, "-m", "tests.adapters.tables.kit", base.kind, base.target, str(amount(2, 60))]
    report = subprocess.run(command, check=False, capture_output=True, text=True, timeout=1800)

    assert report.stdout.endswith("ok\n"), report.stdout + report.stderr
    assert int(report.stdout.split()[3]) > 100
