"""Programs in a Python process of their own."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def python(*arguments, timeout=300, **how):
    """Run Python; return its exit code and its output."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout, **how)


def printed(*arguments, **how):
    """The output of Python, which must not fail."""
    done = python(*arguments, **how)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
