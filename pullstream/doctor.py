"""The command `doctor`: what is installed, what is in the way, and whether Spark starts."""

import argparse
import platform
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import attrs

from pullstream.frames import OURS

EXTRAS: Final = ("files", "spark", "display", "metrics")
"""The extras that a user's programs may need."""

PACKAGES: Final = sorted(OURS, reverse=True)
"""The packages of the toolkit, which a file or another project of such a name would hide."""

SPARK: Final = """
from importlib import import_module
from pullstream import spark
print("java", import_module(".java", spark.session.__module__.rpartition(".")[0]).java_home())
with spark.session(app_name="pullstream doctor") as session:
    print("spark", session.version, "counts to", session.range(3).count())
"""
SPARK_SECONDS: Final = 180


@attrs.frozen
class Remark:
    """A line of the doctor's: a subject, what was seen of it, and what helps where that is not well."""

    subject: str
    seen: str
    remedy: str = ""
    broken: bool = attrs.field(default=False, kw_only=True)

    def __str__(self) -> str:
        lines = [f"{'!!' if self.broken else '--' if self.remedy else 'ok'} {self.subject:<12} {self.seen}"]
        return "\n".join(lines + [f"   {'':<12} {line}" for line in self.remedy.splitlines()])


def add_doctor(commands: Any) -> None:
    """Add the command to those of `python -m pullstream`."""
    parser = commands.add_parser(
        "doctor",
        help="versions, extras, what is in the way, and whether Spark starts",
        description="Say what is installed, which extras are missing and what adds them, and whether Spark starts.",
    )
    parser.add_argument("--no-spark", action="store_true", help="do not start Spark, which takes some seconds")


def examine(given: argparse.Namespace) -> int:
    """Run the command; gives 1 if something that is installed does not work."""
    broken = False
    for finding in findings(start_spark=not given.no_spark):
        print(finding, flush=True)  # noqa: T201 - what it is for
        broken = broken or finding.broken
    return int(broken)


def findings(*, start_spark: bool = True) -> Iterator[Remark]:
    """All that there is to say, as it is found."""
    yield Remark("python", f"{platform.python_version()} on {platform.platform(terse=True)}")
    yield from _packages()
    needed = _needed()
    yield from _versions("pullstream", needed.get("", ()))
    for extra in EXTRAS:
        yield from _versions(extra, needed.get(extra, ()))
    if start_spark and "spark" in needed and not _missing(needed["spark"]):
        yield _spark()


def _packages() -> Iterator[Remark]:
    """Look where Python finds the toolkit's packages: all in one place."""
    home = Path(__file__).parent.parent
    for name in PACKAGES:
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            remedy = "install the toolkit anew: pip install --force-reinstall pullstream"
            yield Remark(name, "is not found", remedy, broken=True)
        elif not Path(spec.origin).is_relative_to(home / name):
            yield Remark(
                name,
                f"is {spec.origin}, and not the toolkit's",
                f"that file, or another project of that name, hides the package `{name}`: rename the file, or\n"
                f"uninstall the project and install the toolkit anew",
                broken=True,
            )
        elif name == "pullstream":
            here = _version(name)
            remedy = "" if here else f"pip install -e {home}, so that it is known what it needs, and its extras"
            yield Remark(name, f"{here or 'not installed, but'} in {home}", remedy)


def _needed() -> dict[str, list[str]]:
    """The requirements by extra; those of the toolkit itself have none."""
    found: dict[str, list[str]] = {}
    try:
        lines = requires("pullstream") or []
    except PackageNotFoundError:
        return found
    for line in lines:
        requirement, _, marker = line.partition(";")
        extra = re.search(r"extra == ['\"](\w+)['\"]", marker)
        found.setdefault(extra[1] if extra else "", []).append(re.split(r"[\s<>=!~\[(]", requirement.strip())[0])
    return found


def _versions(extra: str, names: Sequence[str]) -> Iterator[Remark]:
    names = list(dict.fromkeys(names))
    there = ", ".join(f"{name} {_version(name)}" for name in names if _version(name))
    if missing := _missing(names):
        command = "pip install pullstream" if extra == "pullstream" else f"pip install 'pullstream[{extra}]'"
        yield Remark(extra, f"without {', '.join(missing)}", command, broken=extra == "pullstream")
    elif names and extra == "pullstream":
        yield Remark("needs", there)
    elif names:
        yield Remark(extra, there)


def _missing(names: Sequence[str]) -> list[str]:
    return [name for name in names if _version(name) is None]


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _spark() -> Remark:
    """Start Spark in a process of its own, and have it count."""
    try:
        done = subprocess.run(  # noqa: S603 - the program above
            [sys.executable, "-c", SPARK],
            capture_output=True,
            text=True,
            check=False,
            timeout=SPARK_SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return Remark(
            "spark starts", f"has not within {SPARK_SECONDS} s", "see that the machine has memory left", broken=True
        )
    lines = dict(line.split(" ", 1) for line in done.stdout.splitlines() if line.startswith(("java ", "spark ")))
    if done.returncode == 0 and "spark" in lines:
        return Remark("spark starts", f"{lines['spark']}, with the Java in {lines['java']}")
    said = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith((" ", "Traceback"))]
    return Remark("spark starts", "does not", "\n".join(said[-4:]), broken=True)
