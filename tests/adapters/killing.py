"""A program that is killed at a moment, and otherwise runs to its end.

`python -m tests.adapters.killing PROGRAM MODULES` is a process that has imported everything, and forks for each run.
"""

import json
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path


def started(program, *arguments):
    """Start a program of the tests; it prints a line when it begins."""
    command = [sys.executable, str(program), *map(str, arguments)]
    return subprocess.Popen(command, env=_here(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


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


@contextmanager
def forking(program, *modules):
    """Give a function like `run` for a program, whose runs are forks of one process: it imports the modules once."""
    command = [sys.executable, "-m", __name__, str(program), *modules]
    with subprocess.Popen(command, env=_here(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def run(seconds, *arguments):
            print(json.dumps([*map(str, arguments)]), file=process.stdin, flush=True)
            fork = int(process.stdout.readline())
            assert process.stdout.readline() == "begun\n"
            begun = time.monotonic()
            killer = threading.Timer(seconds, _kill, (fork,))
            killer.start()
            while (line := process.stdout.readline()).startswith("done"):
                pass
            killer.cancel()
            code = int(line)
            assert code in {0, -9}
            return code == 0, time.monotonic() - begun

        yield run


def _kill(process):
    # It may have ended just now.
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def _here():
    return {**os.environ, "PYTHONPATH": str(Path.cwd())}


def main():
    """Fork for each line of the input, the arguments of a run; print the fork's id and, at its end, its code."""
    _, program, *modules = sys.argv
    for name in modules:
        import_module(name)
    runpy.run_path(program)
    for line in sys.stdin:
        fork = os.fork()
        if fork == 0:
            print(os.getpid(), flush=True)
            sys.argv[1:] = json.loads(line)
            runpy.run_path(program, run_name="__main__")
            sys.stdout.flush()
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
