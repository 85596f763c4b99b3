"""Put back faults that the project has had, one at a time, and see that a simulation finds each.

    python -m tests.pullstream.shake.faults                   # all, each with up to 1,000 seeds
    python -m tests.pullstream.shake.faults turn-lost -n 1    # some of them
    python -m tests.pullstream.shake.faults --list

`faults.toml` has the faults, as changes of today's code, each with the scene in which it is looked for. A changed copy
of the checkout runs it. The exit code is 1 if a fault was not found, or if one could not be put back.
"""

import argparse
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import Any

import attrs

from pullstream.shake.choices import Choices
from pullstream.shake.judging import Check, Compare, Judgement
from pullstream.shake.lives import Lives, folder_for
from tests.breaks import ROOT, Break, applied, copied
from tests.pullstream.shake.scenes import BY_THE_CLOCK, CHECKS, SCENES, journaled

TABLE = ROOT / "tests/pullstream/shake/faults.toml"


@attrs.frozen
class Fault:
    """A fault, how it is put back, the commits that are about it, and the scene that shows it."""

    name: str
    fault: str
    commits: list[str]
    scene: str
    file: str
    find: str
    put: str

    def change(self) -> Break:
        """Return the change of the code."""
        return Break(self.name, self.file, self.find, self.put, self.fault, [])


def load() -> dict[str, Fault]:
    """Read the table."""
    return {name: Fault(name, **row) for name, row in tomllib.loads(TABLE.read_text(encoding="utf-8")).items()}


def search(scene: str, seeds: int) -> str:
    """Return the first seed under which a scene is wrong, and what is; nothing if there is none."""
    compare = "nothing" if scene in BY_THE_CLOCK else "auto"
    return first_wrong(SCENES[scene], seeds, compare, CHECKS.get(scene, ()))


def first_wrong(make: Callable[..., Any], seeds: int, compare: Compare = "auto", checks: Sequence[Check] = ()) -> str:
    """Return the first seed under which what `make` returns is wrong, and what is; nothing if there is none."""
    with folder_for(journal=journaled(make)) as folder:
        lives = Lives(make, folder)
        lives.judging = judging = Judgement(lives.undisturbed(), compare, checks)
        if (wrong := judging.wrong(judging.like)) is not None:
            return f"undisturbed: {wrong.kind}: {wrong.what}"
        for seed in range(seeds):
            _, wrong = lives.run(Choices(seed), seed)
            if wrong is not None:
                return f"seed {seed}: {wrong.kind}: {wrong.what}"
    return ""


def put_back(fault: Fault, root: Path, seeds: int, limit: float) -> str:
    """Put a fault back in a copy, and look for it there; return what was found."""
    arguments = ["--search", fault.scene, "--seeds", str(seeds)]
    with applied(fault.change(), root):
        try:
            done = subprocess.run(
                [sys.executable, "-m", "tests.pullstream.shake.faults", *arguments],
                cwd=root,
                capture_output=True,
                text=True,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return ""
    if done.returncode:
        return f"undisturbed: {done.stderr.strip().splitlines()[-1]}"
    return done.stdout.strip()


def main() -> int:
    """Put back the faults that are asked for, or all."""
    parser = argparse.ArgumentParser(prog="python -m tests.pullstream.shake.faults", description="Put back faults.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="of a fault; by default all")
    parser.add_argument("--list", action="store_true", help="list the faults, and put none back")
    parser.add_argument("--seeds", type=int, default=1000, help="seeds to look under (default: 1000)")
    parser.add_argument("--limit", type=float, default=600, help="seconds for each fault (default: 600)")
    parser.add_argument("-n", dest="workers", type=int, default=2, help="faults at once (default: 2)")
    parser.add_argument("--search", metavar="SCENE", help="look for a fault in this scene, in the code as it is")
    given = parser.parse_args()
    if given.search:
        print(search(given.search, given.seeds))
        return 0
    faults = load()
    if unknown := set(given.names) - set(faults):
        parser.error(f"there is no fault {', '.join(sorted(unknown))}: see --list")
    chosen = [faults[name] for name in given.names or faults]
    if refused := {each.name: reason for each in chosen if (reason := each.change().refused(ROOT))}:
        for name, reason in refused.items():
            print(f"{name}: {reason}", file=sys.stderr)
        return 1
    width = max(len(each.name) for each in chosen)
    if given.list:
        print("\n".join(f"{each.name:{width}}  {each.scene}: {each.fault}" for each in chosen))
        return 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.workers) as workers:
        copies = Queue[Path]()
        for number in range(given.workers):
            copies.put(copied(Path(folder) / f"copy-{number}"))

        def one(fault: Fault) -> str:
            root = copies.get()
            try:
                found = put_back(fault, root, given.seeds, given.limit)
            finally:
                copies.put(root)
            print(f"{fault.name:{width}}  {(found or 'NOT FOUND')[:120]}", flush=True)
            return found

        found = [*workers.map(one, chosen)]
    print(f"{sum(map(bool, found))} of {len(found)} found")
    return int(not all(found))


if __name__ == "__main__":
    sys.exit(main())
