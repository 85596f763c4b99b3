"""The README is true: its programs print what it says, and its table names what there is."""

import re
from contextlib import redirect_stdout
from io import StringIO
from itertools import takewhile
from pathlib import Path

import pytest

import pullstream as ps
from adapters import files, spark
from pullstream import incremental

README = (Path(__file__).parent.parent / "README.md").read_text()
PROGRAMS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


KEEPING = [number for number, program in enumerate(PROGRAMS) if "Path(" in program]
"""Those that leave files behind: started again in the same place, they do what they say as well."""


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_program_prints_what_it_says(number, tmp_path, monkeypatch):
    """A program's output is the comment that ends it, also the second time."""
    for _ in range(1 + (number in KEEPING)):
        prints_what_it_says(number, tmp_path, monkeypatch)


def prints_what_it_says(number, tmp_path, monkeypatch):
    program = PROGRAMS[number]
    said = list(takewhile(lambda line: line.startswith("# "), reversed(program.splitlines())))
    monkeypatch.chdir(tmp_path)
    output = StringIO()

    with redirect_stdout(output):
        exec(compile(program, f"<README, program {number + 1}>", "exec"), {"__name__": "__main__"})

    assert said
    assert output.getvalue().splitlines() == [line.removeprefix("# ") for line in reversed(said)]


def test_no_row_of_the_table_stands_twice():
    """A module is told of in one place; those that share a name are called in different ways."""
    calls = re.findall(r"^\| `(\w+\(.*?\))`", README, re.MULTILINE)

    assert sorted(calls) == sorted(set(calls))


def test_table_of_modules_is_complete():
    """Every ready module has a row in the table, and every row names a module."""
    rows = set(re.findall(r"^\| `(\w+)[`(]", README, re.MULTILINE))
    ready = {
        name
        for name in ps.__all__
        if name.islower()
        and callable(getattr(ps, name))
        and name not in {"pipe", "run", "source", "transformer", "sink"}
    }

    assert ready <= rows
    assert rows - ready <= {*spark.__all__, *files.__all__, *incremental.__all__}
