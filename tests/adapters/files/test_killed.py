"""A program that is killed at random moments, again and again, has the same result as without, byte for byte."""

import gzip
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.sampling import amount

pytest.importorskip("pyarrow")

PROGRAM = Path(__file__).with_name("killable.py")
DAYS = 60
ITEMS = ["tea", "rice", "salt", "figs", "oats"]


def write_data(folder, dice):
    """Two files of orders and one of prices, by day; some have no rows on some days."""
    folder.mkdir()
    rows = {"a": [], "b": [], "prices": []}
    for day in range(DAYS):
        for item in ITEMS:
            if dice.random() < 0.9:
                rows["prices"].append({"day": day, "item": item, "price": dice.randint(1, 9)})
            if dice.random() < 0.6:
                for _ in range(dice.randint(1, 12)):
                    rows[dice.choice("ab")].append({"day": day, "item": item, "n": dice.randint(1, 99)})
    lines = {name: [json.dumps(row) for row in some] for name, some in rows.items()}
    (folder / "orders-a.jsonl").write_text("\n".join(lines["a"]))
    table = [",".join(map(str, row.values())) for row in rows["b"]]
    (folder / "orders-b.csv").write_text("\n".join(["day,item,n", *table]))
    (folder / "prices.jsonl.gz").write_bytes(gzip.compress("\n".join(lines["prices"]).encode()))


def started(*arguments):
    """The program, running."""
    command = [sys.executable, str(PROGRAM), *map(str, arguments)]
    here = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    return subprocess.Popen(command, env=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run_killed(seconds, early, *arguments):
    """Run the program, and kill it some seconds after it runs or, if `early`, was started; return whether it ended."""
    with started(*arguments) as process:
        if not early:
            process.stdout.readline()
        time.sleep(seconds)
        process.kill()
        _, errors = process.communicate()
        assert process.returncode in {0, -9}, errors
        return process.returncode == 0


def run_whole(*arguments):
    """Run the program to its end; return its duration since it began to run."""
    with started(*arguments) as process:
        process.stdout.readline()
        begun = time.monotonic()
        _, errors = process.communicate()
        assert process.returncode == 0, errors
        return time.monotonic() - begun


def left(folder):
    """All files with their content, including temporary ones."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def kill_over_and_over(tmp_path, kills, seed):
    """Run after run with the same data, each killed again and again until it ends."""
    dice = random.Random(seed)
    data, whole = tmp_path / "data", tmp_path / "whole"
    write_data(data, dice)
    seconds = run_whole(data, whole)
    expected = left(whole)
    assert len(expected) > DAYS
    done = run = 0
    while done < kills:
        run += 1
        out, journal = tmp_path / f"out-{run}", tmp_path / f"{run}.journal"
        here, most = 0, min(kills - done, 20)
        # Sometimes during the start, or while it resumes from its journal.
        while here < most and not run_killed(dice.random() * seconds / 2, dice.random() < 0.2, data, out, journal):
            here += 1
        done += here
        run_whole(data, out, journal)
        found = left(out)
        names = str(out).encode(), str(whole).encode()
        assert {name: content.replace(*names) for name, content in found.items()} == expected
        assert [*out.rglob(".pullstream-*"), *out.rglob("*.part")] == []


def test_a_killed_program_has_the_same_result(tmp_path):
    """Kills at random moments change no byte."""
    kill_over_and_over(tmp_path, amount(3, 20), 1)


@pytest.mark.slow
def test_a_program_that_is_killed_200_times_has_the_same_result(tmp_path):
    """200 kills at random moments change no byte."""
    kill_over_and_over(tmp_path, 200, 2)
