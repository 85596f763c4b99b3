"""Judging in a separate process, so the judge survives any answer."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from tutorials.exercises import Exercise
from tutorials.judging.verdict import Verdict

LIMIT: Final = 20.0
"""The time limit of a judgement in seconds."""

ROOT: Final = Path(__file__).parents[2]


def judged_apart(
    exercise: Exercise, file: Path, seeds: int = 1, limit: float = LIMIT, trace: Path | None = None
) -> Verdict:
    """Return the verdict on a file; if it does not return in time, the verdict says so, with the line.

    With `trace`, write the run that goes wrong there, if the mistake is in a run.
    """
    file = file.resolve()
    # -P: do not import a learner's own folder called tutorials.
    command = [sys.executable, "-P", "-m", "tutorials.judging", exercise.name, str(file), str(seeds), str(limit)]
    if trace is not None:
        command.append(str(trace))
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    process = subprocess.Popen(  # noqa: S603 - the learner's own file
        command,
        env={**os.environ, "PYTHONPATH": paths},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Ctrl-C goes to the waiting process, which then kills this one.
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=limit + 10)
    except subprocess.TimeoutExpired:
        out, err = "", "Timeout ("
    finally:
        process.kill()
        process.wait()
    if process.returncode == 0 and out:
        return Verdict.parse(out.splitlines()[-1])
    lines = re.findall(rf'File "{re.escape(str(file))}", line (\d+)', err)
    line = int(lines[0]) if lines else None
    if "Timeout (" in err:
        happened = (
            f"after {limit:g} seconds it was still running: a loop does not end, or a call blocks, as time.sleep does; "
            "await trio.sleep instead, which takes no real time here"
        )
        return Verdict(exercise.told, 3, "spin", str(file), line, happened, read=exercise.read)
    happened = "\n".join([f"its process ended with {process.returncode}", *err.strip().splitlines()[-1:]])
    return Verdict(exercise.told, 2, "crash", str(file), line, happened, read=exercise.read)
