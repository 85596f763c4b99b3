"""`python -m tutorials.judging NAME FILE SEEDS LIMIT [TRACE]`: judge one file, and print the verdict as JSON."""

import contextlib
import faulthandler
import io
import sys
from pathlib import Path

from tutorials.exercises import exercise_named
from tutorials.judging.judge import judged


def main() -> None:
    """Judge the file and suppress its output."""
    _, name, file, seeds, limit, *trace = sys.argv
    # This ends an endless loop, and prints its line.
    faulthandler.dump_traceback_later(float(limit), exit=True)
    with contextlib.redirect_stdout(io.StringIO()):
        verdict = judged(exercise_named(name), Path(file), int(seeds), *map(Path, trace))
    # The answer may have written to the file descriptor itself, without a final newline.
    print(f"\n{verdict.json()}")


if __name__ == "__main__":
    main()
