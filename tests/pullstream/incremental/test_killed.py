"""A program of collections that is killed at any moment, and goes on from its journal, leaves the same bytes."""

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
DAYS = 120


def write_data(path, dice):
    """A graph of which edges come and go, and prices of one shop, so many that they are a large group."""
    lines = []

    def add(day, name, record, diff):
        lines.append(json.dumps({"day": day, "name": name, "record": record, "diff": diff}))

    def edge():
        return [dice.randrange(40), dice.randrange(40)]

    there = {"edges": [edge() for _ in range(90)], "prices": [["shop", dice.randrange(1000)] for _ in range(200)]}
    for name, records in there.items():
        for record in records:
            add(0, name, record, 1)
    for day in range(1, DAYS):
        for name, records in there.items():
            for _ in range(dice.randint(1, 5)):
                add(day, name, records.pop(dice.randrange(len(records))), -1)
                records.append(edge() if name == "edges" else ["shop", dice.randrange(1000)])
                add(day, name, records[-1], 1)
    path.write_text("\n".join(lines))


def started(*arguments):
    """The program, running."""
    here = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    command = [sys.executable, str(PROGRAM), *map(str, arguments)]
    return subprocess.Popen(command, env=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run_killed(dice, *arguments):
    """Run the program, and kill it with kill -9 some days on, or while it begins; whether it came to its end."""
    with started(*arguments) as process:
        for _ in range(dice.randrange(40)):
            if not process.stdout.readline():
                break
        time.sleep(dice.random() * 0.02)
        process.kill()
        _, errors = process.communicate()
        assert process.returncode in {0, -9}, errors
        return process.returncode == 0


def run_whole(*arguments):
    """Run the program to its end."""
    with started(*arguments) as process:
        _, errors = process.communicate()
        assert process.returncode == 0, errors


def left(folder):
    """Every file that is there, with its content."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def kill_over_and_over(tmp_path, kills, seed):
    """Run after run with the same changes, each killed again and again until it comes to its end."""
    dice = random.Random(seed)
    data, whole = tmp_path / "changes.jsonl", tmp_path / "whole"
    write_data(data, dice)
    run_whole(data, whole)
    expected = left(whole)
    assert len(expected) == DAYS
    done = run = 0
    while done < kills:
        run += 1
        out, journal = tmp_path / f"out-{run}", tmp_path / f"{run}.journal"
        while done < kills and not run_killed(dice, data, out, journal):
            done += 1
        run_whole(data, out, journal)
        assert left(out) == expected


def test_a_program_that_is_killed_leaves_what_it_would_have_left(tmp_path):
    """Kills change no byte, though what it keeps is of many days and was read again."""
    kill_over_and_over(tmp_path, amount(2, 50), 1)
