"""Programs in a separate Python process, and waits for other processes and threads."""

import subprocess
import sys
import time
from pathlib import Path

import trio

ROOT = Path(__file__).parents[1]


def python(*arguments, timeout=300, **how):
    """Run Python to its end; return its exit code and its output."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout, **how)


class Started(subprocess.Popen):
    """A process; a test that fails beside it kills it, and does not wait for its end."""

    def __exit__(self, kind, *exc):
        if kind is not None:
            self.kill()
        super().__exit__(kind, *exc)


def started(*arguments, **how):
    """Start Python; its output is in a pipe."""
    return Started([sys.executable, *map(str, arguments)], stdout=subprocess.PIPE, text=True, **how)


def printed(*arguments, **how):
    """Run Python, which must not fail; return its output."""
    done = python(*arguments, **how)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def wait(left, seconds=300):
    """Wait until a function returns nothing that is left; after some seconds, fail with what is left."""
    end = time.monotonic() + seconds
    while found := left():
        assert time.monotonic() < end, found
        time.sleep(0.02)


async def until(test):
    """Wait until a condition holds that sets no event."""
    with trio.fail_after(300):
        while not test():  # noqa: ASYNC110 - it can only be polled
            await trio.sleep(0.002)
