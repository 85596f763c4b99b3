"""A program that is killed at a moment, and otherwise runs to its end.

`python -m tests.adapters.killing` is a process that has loaded what programs import, and forks for each of them.
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

LOADED = [
    "pullstream", "pullstream.tables", "pullstream.files", "pullstream.agg", "pyarrow.parquet", "pyarrow.compute",
    "duckdb", "adbc_driver_postgresql.dbapi", "deltalake", "pyiceberg.catalog.sql", "pyiceberg.expressions",
]  # fmt: skip


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
def forking():
    """Give a function like `run`: its programs are forks of one process, which imports everything once."""
    command = [sys.executable, "-m", __name__]
    with subprocess.Popen(command, env=_here(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def run(seconds, program, *arguments):
            print(json.dumps([str(program), *map(str, arguments)]), file=process.stdin, flush=True)
            fork = int(process.stdout.readline())
            assert process.stdout.readline() == "begun\n"
            begun = time.monotonic()
            killer = threading.Timer(seconds, os.kill, (fork, signal.SIGKILL))
            killer.start()
            while (line := process.stdout.readline()).startswith("done"):
                pass
            killer.cancel()
            code = int(line)
            assert code in {0, -9}
            return code == 0, time.monotonic() - begun

        yield run


def _here():
    return {**os.environ, "PYTHONPATH": str(Path.cwd())}


def main():
    """Fork for each line of the input, the arguments of a program; print the fork's id and, at its end, its code."""
    for name in LOADED:
        with suppress(ImportError):
            import_module(name)
    for line in sys.stdin:
        fork = os.fork()
        if fork == 0:
            print(os.getpid(), flush=True)
            sys.argv = json.loads(line)
            runpy.run_path(sys.argv[0], run_name="__main__")
            sys.stdout.flush()
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
