"""The command `doctor`: what is installed, what is missing, and whether Spark starts."""

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

EXTRAS: Final = (
    "files",
    "spark",
    "sqlite",
    "duckdb",
    "postgresql",
    "delta",
    "iceberg",
    "sketches",
    "columns",
    "display",
    "metrics",
)
"""The extras that a user's programs may need."""

PACKAGES: Final = sorted(OURS, reverse=True)
"""The toolkit's packages. A file or another project with one of these names would hide them."""

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
    """One line of output: a subject, what was found, and a remedy if something is missing or broken."""

    subject: str
    seen: str
    remedy: str = ""
    broken: bool = attrs.field(default=False, kw_only=True)

    def __str__(self) -> str:
        lines = [f"{'!!' if self.broken else '--' if self.remedy else 'ok'} {self.subject:<12} {self.seen}"]
        return "\n".join(lines + [f"   {'':<12} {line}" for line in self.remedy.splitlines()])


def add_doctor(commands: Any) -> None:
    """Add the command to the parser of `python -m pullstream`."""
    parser = commands.add_parser(
        "doctor",
        help="list versions, extras and conflicts, and check that Spark starts",
        description="List what is installed and which extras are missing, and check that Spark starts.",
    )
    parser.add_argument("--no-spark", action="store_true", help="do not start Spark (it takes some seconds)")
    parser.set_defaults(run=examine)


def examine(given: argparse.Namespace) -> int:
    """Run the command; return 1 if an installed package does not work."""
    broken = False
    for finding in findings(start_spark=not given.no_spark):
        print(finding, flush=True)  # noqa: T201 - the command's output
        broken = broken or finding.broken
    return int(broken)


def findings(*, start_spark: bool = True) -> Iterator[Remark]:
    """Yield each remark as soon as it is found."""
    yield Remark("python", f"{platform.python_version()} on {platform.platform(terse=True)}")
    yield from _packages()
    needed = _needed()
    yield from _versions("pullstream", needed.get("", ()))
    if needed and (unknown := [extra for extra in EXTRAS if extra not in needed]):
        remedy = f"reinstall it from its folder: pip install -e {Path(__file__).parent.parent}"
        yield Remark("extras", f"the installed metadata is older, and does not have {', '.join(unknown)}", remedy)
    for extra in EXTRAS:
        yield from _versions(extra, needed.get(extra, ()))
    if start_spark and "spark" in needed and not _missing(needed["spark"]):
        yield _spark()


def _packages() -> Iterator[Remark]:
    """Check that Python finds all packages of the toolkit in one place."""
    home = Path(__file__).parent.parent
    for name in PACKAGES:
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            remedy = "reinstall the toolkit: pip install --force-reinstall pullstream"
            yield Remark(name, "not found", remedy, broken=True)
        elif not Path(spec.origin).is_relative_to(home / name):
            yield Remark(
                name,
                f"found at {spec.origin}, which is not the toolkit's",
                f"that file or project hides the toolkit's package `{name}`: rename the file, or\n"
                f"uninstall the project and reinstall the toolkit",
                broken=True,
            )
        elif name == "pullstream":
            here = _version(name)
            remedy = "" if here else f"install it, so that its requirements and extras are known: pip install -e {home}"
            yield Remark(name, f"{here or 'not installed, but'} in {home}", remedy)


def _needed() -> dict[str, list[str]]:
    """Return the requirements by extra; the toolkit's own have the key ""."""
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
    elif names:
        yield Remark("needs" if extra == "pullstream" else extra, there)


def _missing(names: Sequence[str]) -> list[str]:
    return [name for name in names if _version(name) is None]


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _spark() -> Remark:
    """Start Spark in a subprocess and let it count."""
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
            "spark starts", f"not within {SPARK_SECONDS} s", "check that the machine has free memory", broken=True
        )
    lines = dict(line.split(" ", 1) for line in done.stdout.splitlines() if line.startswith(("java ", "spark ")))
    if done.returncode == 0 and "spark" in lines:
        return Remark("spark starts", f"{lines['spark']}, with the Java in {lines['java']}")
    said = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith((" ", "Traceback"))]
    return Remark("spark starts", "no", "\n".join(said[-4:]), broken=True)
