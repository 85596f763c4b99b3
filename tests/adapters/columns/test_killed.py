"""A program in columns is killed at random moments: with its journal it leaves the files of an undisturbed run."""

import random
from pathlib import Path

import pytest

from tests.adapters.killing import run
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


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}


@pytest.mark.parametrize("kills", [amount(1, 100)])
def test_a_killed_program_leaves_the_same_bytes(tmp_path, kills):
    """State is not saved: what is not complete is computed again, and what is complete is not written again."""
    dice = random.Random(kills)
    data, whole = tmp_path / "data", tmp_path / "whole"
    write_data(data, dice)
    finished, seconds = run(300, PROGRAM, data, whole, tmp_path / "whole.journal")
    assert finished
    expected = contents(whole)
    assert {name.partition("/")[0] for name in expected} == {"sold", "windows", "breaks", "late"}
    assert len(expected) > 150
    killed = series = 0
    while killed < kills:
        series += 1
        out, journal = tmp_path / f"out-{series}", tmp_path / f"{series}.journal"
        here = 0
        while here < min(10, kills - killed) and not run(dice.random() * seconds * 0.8, PROGRAM, data, out, journal)[0]:
            here += 1
        killed += here
        assert run(300, PROGRAM, data, out, journal)[0]
        assert contents(out) == expected
