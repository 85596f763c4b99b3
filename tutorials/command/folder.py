"""A learner's folder: an answer per exercise, and the progress."""

import json
import shlex
import shutil
from pathlib import Path
from typing import Any, Final

from tutorials.exercises import EXERCISES, Exercise

STATE: Final = ".progress.json"
FOLDER: Final = "answers"

README: Final = """Your answers. Each file has its task at the top. In this folder:

    python -m pullstream learn          where you are, and what is next
    python -m pullstream learn watch    judges a file whenever you save it
    python -m pullstream learn check    judges the current exercise
    python -m pullstream learn hint     gives a hint, a clearer one each time
    python -m pullstream learn trace    makes a page that steps through what went wrong

The judge does not show what an answer prints: run the file itself to see it. Your progress is kept in
.progress.json; `reset NAME` gives you a fresh template.
"""


class Folder:
    """A learner's folder, with its state."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._state: dict[str, Any] = {}
        try:
            self._state |= json.loads((path / STATE).read_text())
        except FileNotFoundError:
            pass
        except (TypeError, ValueError) as exc:
            raise LookupError(
                f"{path / STATE} is damaged ({exc}): remove it, and `check --all` restores your progress"
            ) from exc

    @property
    def begun(self) -> bool:
        """Whether the folder has been started."""
        return (self.path / STATE).exists()

    def expect(self) -> None:
        """Raise a LookupError with the command to use if the folder has not been started."""
        if not self.begun:
            raise LookupError(
                f"{self.path}/ has no answers: `python -m pullstream learn start` makes it; "
                f"if yours are elsewhere, add --folder FOLDER"
            )

    @property
    def option(self) -> str:
        """The option that commands need to find the folder from here."""
        return "" if self.path in {Path(), Path(FOLDER)} else f" --folder {shlex.quote(str(self.path))}"

    def start(self) -> list[Path]:
        """Copy a template for every exercise without an answer; return the new files."""
        self.path.mkdir(parents=True, exist_ok=True)
        new = [self.answer(exercise) for exercise in EXERCISES if not self.answer(exercise).exists()]
        for exercise in EXERCISES:
            if self.answer(exercise) in new:
                shutil.copyfile(exercise.template, self.answer(exercise))
        if not (self.path / "README.md").exists():
            (self.path / "README.md").write_text(README)
        self._save()
        return new

    def answer(self, exercise: Exercise) -> Path:
        """Return the file of an answer."""
        return self.path / exercise.template.name

    def reset(self, exercise: Exercise) -> Path:
        """Restore the template; keep the answer beside it, and return its path."""
        answer = self.answer(exercise)
        kept = answer.with_name(f"{answer.name}~")
        if answer.exists():
            answer.replace(kept)
        shutil.copyfile(exercise.template, answer)
        self._state.get("done", []).remove(exercise.name) if self.is_done(exercise) else None
        self._state.get("found", {}).pop(exercise.name, None)
        self._save()
        return kept

    @property
    def now(self) -> Exercise:
        """The current exercise."""
        # A folder of an earlier version may name an exercise that no longer exists.
        now = [exercise for exercise in EXERCISES if exercise.name == self._state.get("now")]
        left = [exercise for exercise in EXERCISES if not self.is_done(exercise)]
        return (now or left or EXERCISES)[0]

    def go_to(self, exercise: Exercise) -> None:
        """Make an exercise the current one."""
        self._state["now"] = exercise.name
        self._save()

    def next(self) -> Exercise | None:
        """Return the next exercise that is not done, from the current one on, and then from the first."""
        here = EXERCISES.index(self.now)
        after = [*EXERCISES[here + 1 :], *EXERCISES[: here + 1]]
        return next((exercise for exercise in after if not self.is_done(exercise)), None)

    def is_done(self, exercise: Exercise) -> bool:
        """Whether the answer has been right."""
        return exercise.name in self._state.get("done", [])

    def is_touched(self, exercise: Exercise) -> bool:
        """Whether there is an answer that differs from the template."""
        answer = self.answer(exercise)
        return answer.exists() and answer.read_bytes() != exercise.template.read_bytes()

    def found(self, exercise: Exercise) -> str:
        """Return the kind of the last mistake found."""
        return self._state.get("found", {}).get(exercise.name, "")

    def note(self, exercise: Exercise, kind: str, *, right: bool) -> None:
        """Record a verdict."""
        done = set(self._state.get("done", []))
        done = done | {exercise.name} if right else done - {exercise.name}
        self._state["done"] = sorted(done)
        if self.found(exercise) != kind:
            self._state.setdefault("hints", {}).pop(exercise.name, None)
        self._state.setdefault("found", {})[exercise.name] = kind
        self._state["now"] = exercise.name
        self._save()

    def hint(self, exercise: Exercise) -> int:
        """Return the level of the next hint: one more each time, up to three."""
        levels = self._state.setdefault("hints", {})
        level: int = levels.get(exercise.name, 0)
        levels[exercise.name] = min(level + 1, 2)
        self._save()
        return level

    def _save(self) -> None:
        state = self.path / STATE
        if self.path.is_dir():
            beside = state.with_name(f"{STATE}.new")
            beside.write_text(json.dumps(self._state, indent=1) + "\n")
            beside.replace(state)
