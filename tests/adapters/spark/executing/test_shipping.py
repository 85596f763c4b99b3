"""Shipping to executors, and the errors for missing packages."""

import os
import sys
import textwrap
import types
from pathlib import Path

import pyspark
import pytest
from pyspark import cloudpickle

import pullstream as ps
from adapters.spark.executing.shipping import pickled, shipped
from tests.programs import python


def test_workers_next_to_a_checkout_find_it(tmp_path):
    """Their Python finds only the installed package, and not the checkout's three, as after README's commands."""
    (tmp_path / "pullstream").mkdir()
    (tmp_path / "pullstream" / "__init__.py").write_text("raise ImportError('what is installed')")
    luggage = tmp_path / "luggage"
    luggage.write_bytes(cloudpickle.dumps(shipped(b"")))
    begin = f"import pickle; next(pickle.load(open({str(luggage)!r}, 'rb'))(iter(())))"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    program = f"import sys; sys.path.append({str(Path(pyspark.__file__).parents[1])!r}); {begin}"
    done = python("-S", "-c", program, cwd=tmp_path, env=environment)
    # The program gets as far as unpickling the work, which is empty.
    assert "EOFError" in done.stderr, done.stderr


def test_an_executor_without_the_toolkit_explains(monkeypatch):
    monkeypatch.setitem(sys.modules, "adapters.spark.executing.partition", None)
    with pytest.raises(ModuleNotFoundError, match=r"on this executor .*install pullstream .*spark.send_packages"):
        next(shipped(b"")(iter(())))


def test_an_executor_without_the_users_module_explains(monkeypatch):
    """A module that only the driver has is pickled by name."""
    module = types.ModuleType("report_functions")
    exec(textwrap.dedent("def parse(row): return row"), vars(module))
    monkeypatch.setitem(sys.modules, "report_functions", module)
    modules = ps.map(module.parse).modules
    data = pickled(modules, modules)
    monkeypatch.delitem(sys.modules, "report_functions")
    with pytest.raises(ModuleNotFoundError, match=r"'report_functions' on this executor .*addArtifacts"):
        next(shipped(data)(iter(())))
