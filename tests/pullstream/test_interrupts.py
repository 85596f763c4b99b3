"""Ctrl-C at one place after the other of a run: kept or raised, never lost; everything released, and one exception.

The strikes are made by `strikes.py`, in a process of its own, which is ended if it hangs.
"""

import subprocess
import sys
from pathlib import Path

import pytest

STRIKES = Path(__file__).with_name("strikes.py")
SCENES = ["plain", "tasks", "threads", "journal", "failing", "in_asyncio", "loop", "loop_left", "opened", "read"]


def strike(*options):
    """What striking finds; its errors are empty when there is nothing to say."""
    command = [sys.executable, str(STRIKES), *map(str, options)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_at_some_lines():
    """At every so many of the lines that runs pass, in the toolkit and beneath it."""
    assert strike("each", "--every", 150).count(" 0 not in order") == len(SCENES)


@pytest.mark.slow
@pytest.mark.parametrize("scene", SCENES)
def test_at_every_line(scene):
    """The same, without a gap."""
    assert " 0 not in order" in strike("each", scene)


@pytest.mark.slow
@pytest.mark.parametrize("scene", ["plain", "loop"])
def test_at_every_instruction(scene):
    """The same, finer than the interpreter itself looks for signals."""
    assert " 0 not in order" in strike("each", scene, "--opcodes")
