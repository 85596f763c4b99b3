"""`python -m pullstream new`, and the kit in pytest: a package of custom modules, and its tests."""

import os
from pathlib import Path

import pytest

from pullstream.__main__ import main
from tests.programs import ROOT, printed, python

PLUGIN = ROOT / "pullstream" / "conformance" / "pytest_plugin.py"


def outcome(folder, plugin="pullstream.conformance.pytest_plugin", **environment):
    """Run the tests of a folder as its owner does; if the toolkit is only on the path, its plugin is named."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder)]), **environment}
    return python("-m", "pytest", "-q", "-p", plugin, "-p", "no:cacheprovider", cwd=folder, env=env)


def test_the_tests_of_a_new_package_pass(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    assert main(["new", "shop-streams"]) == 0

    assert "cd shop-streams && python -m pip install -e '.[test]' && python -m pytest" in capsys.readouterr().out
    made = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert made == {
        "shop-streams/README.md",
        "shop-streams/pyproject.toml",
        "shop-streams/shop_streams/__init__.py",
        "shop-streams/shop_streams/every.py",
        "shop-streams/shop_streams/py.typed",
        "shop-streams/tests/test_every.py",
    }
    assert not any("$" in (tmp_path / path).read_text() for path in made)
    done = outcome(tmp_path / "shop-streams", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    assert (done.returncode, "6 passed" in done.stdout) == (0, True), done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("here", "already exists"),
        *((name, "must begin with a letter") for name in ("3rd", "3-x", "_x", "", ".")),
        *((name, "only letters, digits") for name in ("café", "a b")),
        ("x_", "must end in a letter or a digit"),
        ("class", "a Python keyword"),
        *((name, "already the name of another package") for name in ("pullstream", "json", "trio", "tests")),
    ],
)
def test_a_refused_name_changes_nothing(name, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()

    assert main(["new", name]) == 2

    assert words in capsys.readouterr().err
    assert [path.name for path in tmp_path.rglob("*")] == ["here"]


def test_a_partly_written_package_is_removed(tmp_path, monkeypatch, capsys):
    """On a full disk, a part of it would block the next attempt."""
    monkeypatch.chdir(tmp_path)
    write, written = Path.write_text, []

    def fills(path, *args):
        if len(written) == 3:
            raise OSError(28, "No space left on device", str(path))
        written.append(path)
        return write(path, *args)

    monkeypatch.setattr(Path, "write_text", fills)

    assert main(["new", "shop-streams"]) == 2

    assert "python -m pullstream new: [Errno 28] No space left" in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


def test_the_fixture_finds_faults_with_the_marker_s_options(tmp_path):
    """At lines of the module, not of the plugin, which is installed beside the package; a call runs them again."""
    (tmp_path / "_pullstream_pytest.py").write_text(PLUGIN.read_text())
    (tmp_path / "mine.py").write_text('''
import pullstream as ps

@ps.transformer
class Greedy(ps.authoring.Kernel):
    async def produce(self, limit):
        return await self.upstream.ask(limit + 1)

def greedy():
    return Greedy()

@ps.transformer
async def late(upstream, ctx):
    """Everything, at the end: at a time that is complete by then."""
    kept = []
    async for batch in ctx.batches(upstream):
        kept += batch.values
    yield ps.Batch(0, kept)
''')
    (tmp_path / "test_mine.py").write_text("""
import pullstream as ps
import pytest
from mine import Greedy, greedy, late
from pullstream.conformance import Subject

pytestmark = pytest.mark.conformance(cells=4)

def test_a_class(conformance):
    conformance(Greedy, ordered=False, values=str)

def test_a_function(conformance):
    conformance(greedy)

def test_what_it_makes(conformance):
    conformance(greedy())

def test_a_subject(conformance):
    conformance(Subject("much", lambda: Greedy()))

@pytest.mark.conformance(cells=30, flushes=True)
def test_late(conformance):
    conformance(late)

@pytest.mark.conformance(cells=10)
def test_right(conformance):
    report = conformance(ps.take(2))
    assert sum(report.cells.values()) == 10, report.cells
    assert sum(conformance(ps.take(2), cells=3).cells.values()) == 3
""")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers -W error\n")

    # Where it is installed, pytest would load it once more.
    out = outcome(tmp_path, "_pullstream_pytest", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1").stdout

    assert "5 failed, 1 passed" in out, out
    assert "_pullstream_pytest.py:" not in out
    for place in (
        "Greedy, mine.py:4",
        "greedy, mine.py:9",
        "Greedy(), mine.py:10",
        "much, test_mine.py:19",
        "late, mine",
    ):
        assert place in out, out
    for again in (
        "Again: conformance(Greedy, ordered=False, values=..., replay='values=",
        "Again: conformance(greedy, replay='values=",
        "Again: conformance(Greedy(), replay='values=",
        "Again: conformance(Subject('much', ...), replay='values=",
    ):
        assert again in out, out


def test_other_runs_of_pytest_import_nothing():
    """The plugin is loaded in every run of an environment that has the toolkit: it costs these nothing."""
    program = (
        f"import runpy, sys; runpy.run_path({str(PLUGIN)!r}); print('pullstream' in sys.modules, 'trio' in sys.modules)"
    )
    assert printed("-c", program) == "False False\n"
