"""The doors of a checkout: what users import is what stands behind, and who stands in the way is named."""

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
def test_a_door_leads_to_what_is_behind_it(door):
    """Nothing is there twice: what comes through a door is the very same."""
    through, behind = importlib.import_module(door), importlib.import_module(DOORS[door])

    assert {name: getattr(through, name) for name in behind.__all__} == {
        name: getattr(behind, name) for name in behind.__all__
    }
    assert through.__doc__ == behind.__doc__


def test_every_folder_has_its_door():
    """An adapter that is new is reached as the others are."""
    adapters = {path.parent.name for path in (ROOT / "adapters").glob("*/__init__.py")}

    assert {f"pullstream.{name}" for name in adapters} | {"pullstream.timely"} <= DOORS.keys()


@pytest.mark.parametrize(("name", "program"), [("timely", "pullstream.program.pipe"), ("adapters", "pullstream.files")])
def test_what_hides_a_folder_is_named(name, program, tmp_path):
    """A file or folder of the user's that a checkout cannot do with: where it is first needed, and with what to do."""
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("raise SyntaxError('this is not ours')")

    done = python("-c", f"import {program}", cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})

    (said,) = [line for line in done.stderr.splitlines() if line.startswith("ImportError")]
    assert (
        f"`import {name}` finds {tmp_path / name / '__init__.py'}, but in a checkout pullstream needs {ROOT / name}"
        in said
    )
    assert "rename that file or folder, or install pullstream" in said
