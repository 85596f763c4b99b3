"""The doors of a checkout: users import the same objects as behind the door, and errors name what hides a folder."""

import importlib
import os

import pytest

from tests.programs import ROOT, python

DOORS = {
    "pullstream.files": "adapters.files",
    "pullstream.spark": "adapters.spark",
    "pullstream.tables": "adapters.tables",
    "pullstream.columns": "adapters.columns",
    "pullstream.arrow": "adapters.arrow",
    "pullstream.display": "adapters.display",
    "pullstream.metrics": "adapters.metrics",
    "pullstream.timely": "timely",
    "pullstream.timely.theory": "timely.theory",
    "pullstream.timely.theory.model": "timely.theory.model",
}


@pytest.mark.parametrize("door", DOORS)
def test_a_door_exports_the_same_objects(door):
    """The objects behind a door are the same, not copies."""
    through, behind = importlib.import_module(door), importlib.import_module(DOORS[door])

    assert {name: getattr(through, name) for name in behind.__all__} == {
        name: getattr(behind, name) for name in behind.__all__
    }
    assert through.__doc__ == behind.__doc__


def test_every_folder_has_a_door():
    """Every adapter, also a new one, can be imported from `pullstream`."""
    adapters = {path.parent.name for path in (ROOT / "adapters").glob("*/__init__.py")}

    assert {f"pullstream.{name}" for name in adapters} | {"pullstream.timely"} <= DOORS.keys()


@pytest.mark.parametrize(("name", "program"), [("timely", "pullstream.program.pipe"), ("adapters", "pullstream.files")])
def test_a_hidden_folder_is_reported(name, program, tmp_path):
    """The first import that needs a checkout's folder reports a user's file or folder in its place, and the fix."""
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("raise SyntaxError('this is not ours')")

    done = python("-c", f"import {program}", cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})

    (error,) = [line for line in done.stderr.splitlines() if line.startswith("ImportError")]
    assert (
        f"`import {name}` finds {tmp_path / name / '__init__.py'}, but in a checkout pullstream needs {ROOT / name}"
        in error
    )
    assert "rename that file or folder, or install pullstream" in error
