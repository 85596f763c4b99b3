"""The wheel, unpacked in an empty folder, has everything that users are promised."""

import os
import re
import zipfile

import pytest

import pullstream as ps
from tests.programs import ROOT, printed
from tutorials.exercises import EXERCISES


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The wheel of this checkout, unpacked as pip would do."""
    wheel = pytest.importorskip("hatchling.builders.wheel")
    built = tmp_path_factory.mktemp("built")
    (path,) = wheel.WheelBuilder(str(ROOT)).build(directory=str(built), versions=["standard"])
    site = tmp_path_factory.mktemp("site")
    zipfile.ZipFile(path).extractall(site)
    return site


def outside(site, folder, *command, **others):
    """Run a program in another folder with only the wheel installed, as a user does."""
    return printed(*command, cwd=folder, env={**os.environ, "PYTHONPATH": str(site), **others})


def test_no_other_top_level_names(site):
    assert {path.name for path in site.iterdir()} == {
        *("pullstream", "_pullstream_pytest.py"),
        f"pullstream-{ps.__version__}.dist-info",
    }
    assert not list(site.rglob("__pycache__"))


def solution_of(site, name):
    """The installed solution of an exercise."""
    return site / "pullstream" / "lessons" / "tutorials" / "exercises" / "solutions" / f"{name}.py"


@pytest.mark.slow
@pytest.mark.parametrize("name", [exercise.name for exercise in EXERCISES])
def test_solutions_are_right_when_installed(site, tmp_path, name):
    """Judges recognize the model's events and the tracker by class, whatever their package is called."""
    assert "right" in outside(site, tmp_path, "-m", "pullstream", "learn", "check", str(solution_of(site, name)))


LEARN = """
import shutil, sys
from pullstream.__main__ import main

print([main(["learn", *words.split()]) for words in ("read 0.1", "start")])
shutil.copy(sys.argv[1], "answers/take_while.py")
print([main(["learn", *words.split()]) for words in ("check take_while", "solution take_while")])
print([main(["learn", "check", sys.argv[2]])])
"""


def test_installed_chapters_and_exercises(site, tmp_path):
    """The wheel's tutorials are used even if the learner has a folder named tutorials."""
    (tmp_path / "tutorials").mkdir()
    (tmp_path / "tutorials" / "__init__.py").write_text("raise ImportError('not this one')")
    (tmp_path / "learn.py").write_text(LEARN)

    printed = outside(site, tmp_path, "learn.py", *(solution_of(site, name) for name in ("take_while", "record")))
    for words in ("prints", "answers", "right: ", "Others got it wrong"):
        assert words in printed
    assert (printed.count("[0, 0]"), printed.count("[0]"), printed.count("right: ")) == (2, 1, 2)


def test_pytest_finds_the_kit_and_is_not_slowed_down(site, tmp_path):
    """Only its plugin is loaded, and nothing else of the package."""
    (tmp_path / "test_theirs.py").write_text(
        "import sys\n\ndef test_theirs(pytestconfig):\n"
        "    assert pytestconfig.pluginmanager.has_plugin('pullstream')\n"
        "    assert not {'pullstream', 'timely', 'adapters'} & sys.modules.keys()\n"
    )
    outside(site, tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error")


HOSTILE = "raise ImportError('this is a file of the user\\'s, or of another project')\n"

PROGRAM = """
import sys
import pullstream as ps
from pullstream import arrow, columns, display, files, metrics, spark, tables, timely
from pullstream.timely.theory import model

rows = ps.pipe(ps.values([3, 4], time=lambda n: n), ps.map(lambda n: n + 1), files.write_jsonl("{time}.jsonl"))
ps.run(rows)
for line in ps.run(ps.pipe(files.read_jsonl("4.jsonl"), ps.collect())):
    print(line)
print(timely.Antichain.__module__, files.read_jsonl.__module__, ps.__version__)
print(sorted({name.partition(".")[0] for name in sys.modules} & {"timely", "adapters"}))
"""


def test_user_files_with_our_names_do_no_harm(site, tmp_path):
    (tmp_path / "timely.py").write_text(HOSTILE)
    for folder in (tmp_path / "adapters", site / "adapters"):
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").write_text(HOSTILE)
    (tmp_path / "program.py").write_text(PROGRAM)

    try:
        lines = outside(site, tmp_path, "program.py").splitlines()
        doctor = outside(site, tmp_path, "-m", "pullstream", "doctor", "--no-spark")
    finally:
        (site / "adapters" / "__init__.py").unlink()
        (site / "adapters").rmdir()

    assert lines == ["5", f"pullstream.timely.antichain pullstream.files.reading.jsonl {ps.__version__}", "[]"]
    assert "!!" not in doctor


def test_every_module_can_be_imported(site, tmp_path):
    (tmp_path / "every.py").write_text("""
import importlib, pkgutil, sys
import pullstream
skipped = ("pullstream.lessons", "pullstream.__main__")
for found in pkgutil.walk_packages(pullstream.__path__, "pullstream."):
    if not found.name.startswith(skipped):
        importlib.import_module(found.name)
print(len([name for name in sys.modules if name.startswith("pullstream.")]))
print([name for name in sys.modules if name.partition(".")[0] in {"timely", "adapters"}])
""")
    count, strangers = outside(site, tmp_path, "every.py").splitlines()
    assert int(count) > 300
    assert strangers == "[]"
    left = [str(path) for path in site.rglob("*.py") if OLD.search(path.read_text())]
    assert left == []


OLD = re.compile(r"^\s*(?:>>> )?(?:from|import) (?:timely|adapters)\b", re.MULTILINE)
"""An import of a name that only a checkout has."""


def test_a_user_s_module_named_timely(site, tmp_path):
    """A user's module named timely is part of the program in the journal, and tracebacks show its frames."""
    (tmp_path / "timely.py").write_text("def twice(n):\n    return 2 * n\n")
    (tmp_path / "adapters.py").write_text("def odd(n):\n    return 1 / (n - 3)\n")
    (tmp_path / "program.py").write_text("""
import sys, traceback
import pullstream as ps, timely, adapters
print(ps.run(ps.pipe(ps.values([1, 2], time=int), ps.map(timely.twice), ps.collect()), journal="run.journal"))
try:
    ps.run(ps.pipe(ps.values([3]), ps.map(adapters.odd), ps.collect()))
except ZeroDivisionError:
    print("in odd" in traceback.format_exc())
""")
    assert outside(site, tmp_path, "program.py", PULLSTREAM_TRACEBACK="") == "[2, 4]\nTrue\n"
    # Of another size, because Python would use cached code for a file of the same size and second.
    (tmp_path / "timely.py").write_text("def twice(n):\n    return 2 * n + 0\n")
    with pytest.raises(AssertionError, match="JournalError"):
        outside(site, tmp_path, "program.py")
