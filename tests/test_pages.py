"""The pages are true: programs print what their comments say, and the tables of modules are complete."""

import ast
import os
import re
import signal
from contextlib import redirect_stdout
from io import StringIO
from itertools import takewhile
from pathlib import Path
from types import SimpleNamespace

import attrs
import pytest
import trio

import pullstream as ps
from adapters import columns, files, spark, tables
from pullstream import duplex, incremental
from pullstream.checker import RULES
from pullstream.conformance.findings import BESIDE
from tests.programs import printed, started, wait
from tests.sampling import FULL

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
MODULES = (ROOT / "tutorials/site/pages/modules.md").read_text()
PAGES = [*ROOT.glob("*.md"), *(ROOT / "tutorials").rglob("*.md")]


@attrs.frozen
class Program:
    """A program on a page: its number there, and its text."""

    page: Path
    number: int
    text: str

    def __str__(self):
        return f"{self.page.relative_to(ROOT)}-{self.number}"

    @property
    def keeps(self):
        """Whether the program leaves files: then a second run in the same folder must print the same.

        By default only without Spark, which is slow.
        """
        return "Path(" in self.text and ("import spark" not in self.text or FULL in os.environ)


PROGRAMS = [
    Program(page, number, text)
    for page in sorted(PAGES)
    for number, text in enumerate(re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE), 1)
]
"""All blocks marked `python`; blocks marked `py` belong to other libraries, or are parts of other programs."""


def needs_spark(program):
    return pytest.param(program, id=str(program), marks=[pytest.mark.spark] * ("import spark" in program.text))


@pytest.mark.parametrize("program", [needs_spark(program) for program in PROGRAMS])
def test_program_prints_its_comment(program, tmp_path, monkeypatch):
    """A program prints the comment at its end, also in a second run."""
    for _ in range(1 + program.keeps):
        prints_what_it_says(program, tmp_path, monkeypatch)


def prints_what_it_says(program, tmp_path, monkeypatch):
    comment = list(takewhile(lambda line: line.startswith("# "), reversed(program.text.splitlines())))
    monkeypatch.chdir(tmp_path)
    output = StringIO()
    handler = signal.getsignal(signal.SIGTERM)

    try:
        with redirect_stdout(output):
            exec(compile(program.text, f"<{program}>", "exec"), {"__name__": "__main__"})
    finally:
        signal.signal(signal.SIGTERM, handler)

    assert comment
    assert output.getvalue().splitlines() == [line.removeprefix("# ") for line in reversed(comment)]


GROWING = pytest.mark.parametrize("program", [each for each in PROGRAMS if "def lines_of" in each.text], ids=str)


@GROWING
async def test_a_growing_file_may_end_in_half_a_letter(program, tmp_path):
    """The guide's source waits for the rest of the character."""
    names = {}
    exec(program.text.partition("\nPath(")[0], names)
    path = tmp_path / "app.log"
    path.write_bytes("tea\ncafé".encode()[:-1])

    async def more(_seconds):
        with path.open("ab") as file:
            file.write("é\n".encode()[1:])

    names["trio"] = SimpleNamespace(open_file=trio.open_file, sleep=more)
    assert await ps.arun(ps.pipe(names["lines_of"](path), ps.take(2), ps.collect())) == ["tea", "café"]


@GROWING
async def test_the_lines_of_a_growing_file_share_their_reads(program, tmp_path, monkeypatch):
    """Each read takes a thread, which costs as much as a hundred lines."""
    names = {}
    exec(program.text.partition("\nPath(")[0], names)
    path = tmp_path / "app.log"
    path.write_text("a line\r\n" * 2000)
    run_sync, threads = trio.to_thread.run_sync, []

    async def counted(*args, **options):
        threads.append(args)
        return await run_sync(*args, **options)

    monkeypatch.setattr(trio.to_thread, "run_sync", counted)
    lines = await ps.arun(ps.pipe(names["lines_of"](path), ps.take(2000), ps.collect()))

    assert lines == ["a line"] * 2000
    assert len(threads) <= 5  # open, read, close


def test_the_guides_program_of_growing_files_resumes_after_a_kill(tmp_path):
    """Killed after half of the lines, it then writes the files that the page names."""
    (text,) = (program.text for program in PROGRAMS if "minutes.journal" in program.text)
    before, north, south, after = re.fullmatch(r'(.*)north = (".*?")\nsouth = (".*?")\n(.*)', text, re.DOTALL).groups()
    program = re.sub(r"^Path.*\n", "", before + after, flags=re.MULTILINE)
    tills = {"north.csv": ast.literal_eval(north), "south.csv": ast.literal_eval(south)}
    (tmp_path / "tills").mkdir()
    (tmp_path / "program.py").write_text(program)

    def append(part):
        for name, lines in tills.items():
            with (tmp_path / "tills" / name).open("a") as file:
                file.writelines(lines.splitlines(keepends=True)[part])

    def changed(name):
        path = tmp_path / name
        return path.stat().st_mtime_ns if path.exists() else 0

    first = "minutes/2026-03-02T0801.csv"
    append(slice(2))
    with started("program.py", cwd=tmp_path) as running:
        wait(lambda: not 0 < changed(first) < changed("minutes.journal"), 60)
        running.kill()
    once = changed(first)
    append(slice(2, None))
    assert printed("program.py", cwd=tmp_path).splitlines() == re.findall(r"^# (minutes.*)", text, re.MULTILINE)
    assert changed(first) == once, "the file of a complete minute is not written again"


def test_every_block_has_a_language():
    """A block without a language would silently not run."""
    fences = [fence for page in PAGES for fence in re.findall(r"^```(.*)$", page.read_text(), re.MULTILINE)]
    kinds = set(fences[::2])

    assert set(fences[1::2]) == {""}
    assert kinds <= {"python", "py", "sh", "js", "rust", "text", ""}
    assert len(PROGRAMS) > 30


def test_no_row_of_the_table_is_repeated():
    calls = re.findall(r"^\| `(\w+\(.*?\))`", MODULES, re.MULTILINE)

    assert sorted(calls) == sorted(set(calls))


def test_table_of_modules_is_complete():
    """Every ready module has a row in the table, and every row names a module."""
    rows = set(re.findall(r"^\| `(\w+)[`(]", MODULES, re.MULTILINE))
    ready = {
        name
        for name in ps.__all__
        if name.islower()
        and callable(getattr(ps, name))
        and name not in {"pipe", "run", "source", "transformer", "sink"}
    } | {name for name in duplex.__all__ if name.islower()}

    assert ready <= rows
    assert rows - ready <= {*spark.__all__, *files.__all__, *tables.__all__, *columns.__all__, *incremental.__all__}


def test_readme_has_every_module():
    """Its table has the names of the table of modules, in the same groups."""
    there = {
        title: set(re.findall(r"`(\w+)\(", " ".join(re.findall(r"^\| ([^|]*) \|", rows, re.MULTILINE))))
        for title, _, rows in (
            section.partition("\n") for section in re.split(r"^## ", MODULES, flags=re.MULTILINE)[1:]
        )
    }
    here = dict(re.findall(r"^\| \[(.*?)\]\([\w/.]*modules\.md#[\w-]+\) \| (.*) \|$", README, re.MULTILINE))

    assert {title: set(re.findall(r"`(\w+)`", names)) for title, names in here.items()} == there


def test_readme_is_short():
    """It has at most two hundred lines, and links to everything else."""
    assert len(README.splitlines()) <= 200
    for page in ("tutorials/architecture.md", "tutorials/reference.md", "tutorials/site/pages/more.md"):
        assert f"({page})" in README
    assert "(../../spark_errors.md)" in (ROOT / "tutorials/site/pages/more.md").read_text()


def test_start_quotes_the_conformance_kit():
    """The first lines of the reports on the page are sentences of the kit."""
    page = (ROOT / "tutorials/site/pages/start.md").read_text()
    shown = re.findall(r"\| (\w+): ([^|]*)\. \|$", page, re.MULTILINE)

    assert len(shown) == 3
    assert [(name, sentence) for name, sentence in shown if {**RULES, **BESIDE}.get(name) != sentence] == []
