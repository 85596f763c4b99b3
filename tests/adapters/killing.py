"""A program that is killed at a moment, and otherwise runs to its end."""

import os
import subprocess
import sys
import time
from pathlib import Path


def started(program, *arguments):
    """Start a program of the tests; it prints a line when it begins."""
    command = [sys.executable, str(program), *map(str, arguments)]
    here = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    return subprocess.Popen(command, env=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(seconds, program, *arguments):
    """Run a program, and kill it so many seconds after it has begun; return whether it finished, and its seconds."""
    with started(program, *arguments) as process:
        process.stdout.readline()
        begun = time.monotonic()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
        _, errors = process.communicate()
        assert process.returncode in {0, -9}, errors
        return process.returncode == 0, time.monotonic() - begun
