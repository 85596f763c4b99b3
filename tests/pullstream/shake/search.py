"""Look for the first seed under which a scene is wrong: `python -m tests.pullstream.shake.search SCENE [SEED]`.

SEED is tried before all others. The exit code is 3 if the scene is wrong.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

from pullstream.errors import PullstreamError
from pullstream.shake.choices import Choices
from pullstream.shake.judging import Check, Compare
from pullstream.shake.lives import Lives, folder_for
from tests.pullstream.shake.scenes import CHECKS, COMPARED, SCENES, journaled

WRONG: Final = 3
"""The exit code if a scene is wrong; others mean that the search itself failed."""


def first_wrong(
    make: Callable[..., Any], seeds: Sequence[int], compare: Compare = "auto", checks: Sequence[Check] = ()
) -> str:
    """Return the first seed under which the pipeline of `make` is wrong, and how; empty if there is none."""
    with folder_for(journal=journaled(make)) as folder:
        lives = Lives(make, folder)
        try:
            lives.undisturbed(compare, checks)
        except PullstreamError as exc:
            return str(exc)
        for seed in seeds:
            _, wrong = lives.run(Choices(seed), seed)
            if wrong is not None:
                return f"seed {seed}: {wrong.kind}: {wrong.what}"
    return ""


if __name__ == "__main__":
    name, *first = sys.argv[1:]
    compare = COMPARED.get(name, "auto")
    if wrong := first_wrong(SCENES[name], [*map(int, first), *range(1000)], compare, CHECKS.get(name, ())):
        print(wrong.replace("\n", " "))
        sys.exit(WRONG)
