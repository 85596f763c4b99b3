"""What is installed: the wheel, unpacked in an empty folder, with everything that users are promised."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import pullstream as ps

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The wheel of this checkout, where pip would put it."""
    wheel = pytest.importorskip("hatchling.builders.wheel")
    built = tmp_path_factory.mktemp("built")
    (path,) = wheel.WheelBuilder(str(ROOT)).build(directory=str(built), versions=["standard"])
    site = tmp_path_factory.mktemp("site")
    zipfile.ZipFile(path).extractall(site)
    return site


def outside(site, folder, *command, **others):
    """Run a program as its user does, elsewhere, with what is installed alone."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(site), **others},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_nothing_else_stands_at_the_top(site):
    """A name at the top of site-packages is taken from everybody else."""
    assert {path.name for path in site.iterdir()} == {
        *("pullstream", "timely", "adapters", "_pullstream_pytest.py"),
        f"pullstream-{ps.__version__}.dist-info",
    }
    assert not list(site.rglob("__pycache__"))


def test_chapters_exercises_and_their_judge(site, tmp_path):
    """The tutorials of the wheel are used, though a folder of the learner's is called so, too."""
    (tmp_path / "tutorials").mkdir()
    (tmp_path / "tutorials" / "__init__.py").write_text("raise ImportError('not this one')")
    solution = (site / "pullstream" / "lessons" / "tutorials" / "exercises" / "solutions" / "take_while.py").read_text()

    def learn(*words):
        return outside(site, tmp_path, "-m", "pullstream", "learn", *words)

    assert "prints" in learn("read", "0.1")
    assert "answers" in learn("start")
    (tmp_path / "answers" / "take_while.py").write_text(solution)
    assert "right" in learn("check", "take_while")
    assert "Others got it wrong" in learn("solution", "take_while")


def test_pytest_finds_the_kit_and_is_not_slowed_down(site, tmp_path):
    """Its plugin is loaded, and nothing else of the package is."""
    (tmp_path / "test_theirs.py").write_text(
        "import sys\n\ndef test_theirs(pytestconfig):\n"
        "    assert pytestconfig.pluginmanager.has_plugin('pullstream')\n"
        "    assert not {'pullstream', 'timely', 'adapters'} & sys.modules.keys()\n"
    )
    outside(site, tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error")
