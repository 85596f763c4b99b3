"""A program is killed at random moments: only whole files are visible, and the next run finishes its work."""

import random
import signal
import subprocess
import time
from functools import partial
from itertools import count
from pathlib import Path

import pytest

pytest.importorskip("polars")

from adapters import files
from tests.programs import started
from tests.sampling import amount

from .killable import DAYS, main, write_data
from .writing.kit import content, visible, written

run = partial(started, Path(__file__).with_name("killable.py"), stderr=subprocess.PIPE)


def finished(*arguments):
    with run(*arguments) as process:
        _, errors = process.communicate()
        assert process.returncode == 0, errors


def run_killed(seconds, early, look, *arguments):
    """Kill the program `seconds` after it prints `begun` or, with `early`, starts; return whether it finished."""
    with run(*arguments) as process:
        if not early:
            process.stdout.readline()
        until = time.monotonic() + seconds
        while time.monotonic() < until and process.poll() is None:
            look()
        process.kill()
        _, errors = process.communicate()
        assert process.returncode in {0, -9}, errors
        look()
        return process.returncode == 0


@pytest.mark.parametrize(
    ("kills", "journal"),
    [
        (amount(1, 20), True),
        pytest.param(60, False, marks=pytest.mark.slow),
        pytest.param(200, True, marks=pytest.mark.slow),
    ],
)
def test_a_killed_program_leaves_the_same_bytes(tmp_path, kills, journal):
    dice = random.Random(kills)
    data, whole = tmp_path / "data", tmp_path / "whole"
    write_data(data, dice)
    begun = time.monotonic()
    main(data, whole)
    seconds = time.monotonic() - begun
    expected = content(whole)
    assert {name.partition("/")[0] for name in expected} >= {"days", "breaks", "sold", "windows", "late", "numbers"}
    assert len(expected) > DAYS
    done = 0
    for number in count():
        if done >= kills:
            return
        out = tmp_path / f"out-{number}"
        arguments = [data, out, *([tmp_path / f"{number}.journal"] if journal else [])]

        def look(out=out):
            for name, found in visible(out).items():
                if "totals" not in name:
                    assert found == expected[name], f"{name} is visible in part"

        here, most = 0, min(kills - done, 20)
        # Some kills hit the program while it starts or resumes from its journal.
        while here < most and not run_killed(dice.random() * seconds / 2, dice.random() < 0.2, look, *arguments):
            here += 1
        done += here
        finished(*arguments)
        names = str(out).encode(), str(whole).encode()
        assert {name: found.replace(*names) for name, found in content(out).items()} == expected
        assert [*out.rglob(".pullstream-*"), *out.rglob("*.part")] == []


def test_a_second_process_is_refused_until_the_first_is_killed(tmp_path):
    write_data(tmp_path / "data", random.Random(4))
    out = tmp_path / "out" / "numbers"
    write = files.write_parquet(out / "{time}" / "{key}.parquet", key="key")
    with run(tmp_path / "data", tmp_path / "out") as process:
        while not visible(out):
            assert process.poll() is None
            time.sleep(0.02)
        # It must not end before this run has begun.
        process.send_signal(signal.SIGSTOP)
        with pytest.raises(files.FileBusyError):
            written([{"key": "a"}], write)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert [name for name in content(out) if name.startswith(".pullstream")]
    written([{"key": "a"}], write, time=lambda _: 99)
    assert not [name for name in content(out) if name.startswith(".pullstream")]
    assert "99/a.parquet" in content(out)
