"""`python -m tutorials.judging NAME FILE SEEDS LIMIT [TRACE]`: one file is judged, and the verdict printed as JSON."""

import contextlib
import faulthandler
import io
import sys
from pathlib import Path

from tutorials.exercises import exercise_named
from tutorials.judging.judge import judged


def main() -> None:
    """Judge, quietly."""
    _, name, file, seeds, limit, *trace = sys.argv
    # A loop that never comes back cannot be asked where it is; this tells, and ends it.
    faulthandler.dump_traceback_later(float(limit), exit=True)
    with contextlib.redirect_stdout(io.StringIO()):
        verdict = judged(exercise_named(name), Path(file), int(seeds), *map(Path, trace))
    # What the answer has written past Python's own output may not end with a line's end.
    print(f"\n{verdict.json()}")


if __name__ == "__main__":
    main()
