"""Run every test, including the slow ones, group by group, and write the results to one page.

    python -m tests.full --out full.md              # all groups, hours
    python -m tests.full --out full.md theory core  # some of them

Where the default run has a sample of a matrix or a short loop, this runs all of it (`tests/sampling.py`). The page is
written after each group, so an interrupted run leaves its results. The exit code is 1 if a test failed.
"""

import argparse
import os
import platform
import random
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import attrs

from tests.sampling import FULL

ROOT = Path(__file__).parents[1]

GROUPS = {
    "theory": ["tests/timely", "timely"],
    "core": ["tests/pullstream", "pullstream"],
    "adapters": ["tests/adapters", "adapters", "--ignore=tests/adapters/spark", "--ignore=adapters/spark"],
    "spark": ["tests/adapters/spark", "adapters/spark"],
    "tutorials": ["tests/tutorials"],
    "project": [str(path.relative_to(ROOT)) for path in sorted((ROOT / "tests").glob("test_*.py"))],
}


@attrs.frozen
class Found:
    """The results of a group."""

    group: str
    code: int
    seconds: float
    outcomes: Counter
    failed: list[str]

    def row(self):
        counts = [self.outcomes[kind] for kind in ("passed", "failed", "skipped")]
        return (
            f"| {self.group} | {' | '.join(f'{count:,}' for count in (sum(counts), *counts))} | {self.seconds:,.0f} |"
        )


def run(group, seed, workers, chosen):
    """Run the tests of a group; pytest's output goes to the terminal."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        options = ["-q", "-m", "slow or not slow", f"--hypothesis-seed={seed}", "-n", workers, "-k", chosen]
        options += [f"--junitxml={report}"]
        begun = datetime.now(UTC)
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *GROUPS[group]],
            cwd=ROOT,
            env={**os.environ, FULL: "1"},
            check=False,
        )
        seconds = (datetime.now(UTC) - begun).total_seconds()
        cases = [*ET.parse(report).iter("testcase")] if report.exists() else []
    outcomes, failed = Counter(), []
    for case in cases:
        kinds = {child.tag for child in case}
        outcome = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        outcomes[outcome] += 1
        if outcome == "failed":
            failed.append(f"{case.get('classname')}::{case.get('name')}")
    return Found(group, done.returncode, seconds, outcomes, failed)


def page(begun, seed, workers, chosen, results):
    """The page: when and where the tests ran, a row for each group, and the failed tests."""
    lines = [f"# The tests `{chosen}`" if chosen else "# Every test", ""]
    lines += [f"- begun {begun:%Y-%m-%d %H:%M} UTC, commit {commit()}"]
    lines += [f"- Python {platform.python_version()}, {platform.system()}, {os.cpu_count()} cores, {workers} workers"]
    lines += [f"- Hypothesis has the seed {seed}; other seeds are in the tests", ""]
    lines += ["| group | tests | passed | failed | skipped | seconds |", "| --- | --: | --: | --: | --: | --: |"]
    lines += [found.row() for found in results]
    lines += [f"\n`{found.group}`: pytest ended with exit code {found.code}" for found in results if found.code]
    lines += [f"- failed: `{name}`" for found in results for name in found.failed]
    return "\n".join(lines) + "\n"


def commit():
    """The commit of the checkout, and whether files have changed since then."""
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"


def main():
    """Run the named groups, or all."""
    parser = argparse.ArgumentParser(prog="python -m tests.full", description="Run every test, and write one page.")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"{', '.join(GROUPS)}; by default all")
    parser.add_argument("--out", type=Path, required=True, help="the page, in Markdown")
    parser.add_argument(
        "--seed", type=int, default=random.randrange(10**6), help="seed of Hypothesis; random by default"
    )
    parser.add_argument("-k", dest="chosen", default="", help="only the tests that match, as in pytest")
    parser.add_argument("-n", dest="workers", default="2", help="workers of pytest-xdist (default: 2)")
    given = parser.parse_args()
    if unknown := set(given.groups) - set(GROUPS):
        parser.error(f"there is no group {', '.join(sorted(unknown))}: name some of {', '.join(GROUPS)}")
    begun, results = datetime.now(UTC), []
    for group in given.groups or GROUPS:
        results.append(run(group, given.seed, given.workers, given.chosen))
        given.out.write_text(page(begun, given.seed, given.workers, given.chosen, results), encoding="utf-8")
    return int(any(found.code for found in results))


if __name__ == "__main__":
    sys.exit(main())
