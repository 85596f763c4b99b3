"""A program in columns is killed at random moments: with its journal it leaves the files of an undisturbed run."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.sampling import amount

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("polars")

PROGRAM = Path(__file__).with_name("killable.py")
ITEMS = ["tea", "rice", "salt", None]


def write_data(folder, dice):
    """Days of orders with a time of their own, some of them late."""
    folder.mkdir()
    rows = [
        {
            "day": number // 200,
            "item": dice.choice(ITEMS),
            "n": dice.randint(1, 99),
            "at": number // 10 - dice.randint(0, 25),
        }
        for number in range(12_000)
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "rows.parquet", row_group_size=1000)


def run(seconds, *arguments):
    """Run the program, and kill it so many seconds after it has begun; return whether it finished, and its seconds."""
    here = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    command = [sys.executable, str(PROGRAM), *map(str, arguments)]
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


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}


@pytest.mark.parametrize("kills", [amount(2, 100)])
def test_a_killed_program_leaves_the_same_bytes(tmp_path, kills):
    """State is not saved: what is not complete is computed again, and what is complete is not written again."""
    dice = random.Random(kills)
    data, whole = tmp_path / "data", tmp_path / "whole"
    write_data(data, dice)
    finished, seconds = run(300, data, whole, tmp_path / "whole.journal")
    assert finished
    expected = contents(whole)
    assert {name.partition("/")[0] for name in expected} == {"sold", "windows", "breaks", "late"}
    assert len(expected) > 150
    killed = series = 0
    while killed < kills:
        series += 1
        out, journal = tmp_path / f"out-{series}", tmp_path / f"{series}.journal"
        here = 0
        while here < min(10, kills - killed) and not run(dice.random() * seconds * 0.8, data, out, journal)[0]:
            here += 1
        killed += here
        assert run(300, data, out, journal)[0]
        assert contents(out) == expected
