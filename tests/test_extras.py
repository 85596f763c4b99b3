"""An extra installs everything that its modules need."""

import ast
import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires

import pytest

from tests.programs import ROOT, printed

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OWN = {"pullstream", "timely", "adapters"}

FOLDERS = {
    "files": ("files", "arrow"),
    "spark": ("spark", "arrow"),
    "sqlite": ("tables/sqlite.py", "arrow"),
    "duckdb": ("tables/duckdb.py", "arrow"),
    "postgresql": ("tables/postgresql.py", "arrow"),
    "delta": ("tables/delta.py", "tables/lake.py", "arrow"),
    "iceberg": ("tables/iceberg.py", "tables/lake.py", "arrow"),
    "columns": ("columns", "arrow"),
    "display": ("display",),
    "metrics": ("metrics",),
}
"""The folders and files of `adapters` that an extra is for."""

HERE_OR_NOT = {
    "display": {"IPython"},  # used in a notebook, which has it
    "spark": {"grpc", "py4j"},  # the session's own connection, and a part of pyspark
}
"""Packages that are imported only where they are already in use."""

CALLED = {"attr": "attrs", "google": "protobuf", "opentelemetry": "opentelemetry-api"}
"""Packages whose distribution has a different name."""

BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {0!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
"""

FILES = """
import datetime as dt
from decimal import Decimal
import pullstream as ps
from adapters import arrow, files

rows = [{"n": 1, "real": 0.5, "yes": True, "day": dt.date(2020, 1, 1), "sum": Decimal("1.25"), "text": "a"}] * 3
for name, write, read in (
    ("csv", files.write_csv, files.read_csv),
    ("parquet", files.write_parquet, files.read_parquet),
    ("jsonl", files.write_jsonl, files.read_jsonl),
):
    given = rows if name != "jsonl" else [{"n": 1, "text": "a"}] * 3
    ps.run(ps.pipe(ps.values(given), write("{time}." + name)))
    print(name, [row["n"] if name == "jsonl" else row.n for row in ps.run(ps.pipe(read("*." + name), ps.collect()))])
batches = ps.pipe(files.read_parquet("*.parquet", as_="batches"), ps.map(arrow.by_column), ps.collect())
print([int(columns["n"].sum()) for columns in ps.run(batches)])
"""


def named(requirement):
    return re.split(r"[\s<>=!~\[;(]", requirement)[0].lower().replace("_", "-")


def required(extra):
    """The distributions that an extra, or the toolkit itself, requires by name."""
    return set(map(named, PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]))


def imported(folder):
    """The top-level names that a file, or the files of a folder, import by statement or by function."""
    place = ROOT / "adapters" / folder
    for path in [place] if place.is_file() else place.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                yield node.module
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                place = {"import_module": 0, "of_extra": 1}.get(node.func.id)
                given = node.args[place] if place is not None else None
                if isinstance(given, ast.Constant) and not given.value.startswith("."):
                    yield given.value


def of_all(extra):
    """The top-level packages of an environment with only one extra."""
    found, left = set(), [*required(""), *required(extra)]
    while left:
        if (name := left.pop()) not in found:
            found.add(name)
            try:
                left.extend(named(line) for line in requires(name) or () if "extra ==" not in line)
            except PackageNotFoundError:  # of another system, or another Python
                continue
    return {top for top, names in packages_distributions().items() if found & set(map(named, names))}


def output_of(program, folder, blocked):
    """The lines that a program prints without some packages."""
    program = BLOCKED.format(sorted(blocked)) + program
    return printed("-c", program, cwd=folder, env={"PYTHONPATH": str(ROOT)}).splitlines()


@pytest.mark.parametrize("extra", FOLDERS)
def test_every_import_is_required_by_its_extra(extra):
    """Packages that come along with another package must be required, too."""
    tops = {name.partition(".")[0] for folder in FOLDERS[extra] for name in imported(folder)}
    others = tops - OWN - set(sys.stdlib_module_names) - HERE_OR_NOT.get(extra, set())

    assert {CALLED.get(name, named(name)) for name in others} <= required("") | required(extra)


def test_files_need_only_their_extra(tmp_path):
    """Without all other packages of this environment, values of every kind can be written and read."""
    blocked = packages_distributions().keys() - of_all("files") - OWN
    assert {"pandas", "pyspark"} <= blocked

    assert output_of(FILES, tmp_path, blocked) == ["csv [1, 1, 1]", "parquet [1, 1, 1]", "jsonl [1, 1, 1]", "[3]"]
