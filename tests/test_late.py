"""Names loaded on first use: those that a package imports for type checkers."""

import ast
import importlib
import inspect
import re
from operator import attrgetter
from typing import get_type_hints

import pytest

import pullstream as ps
from pullstream import hints
from tests.programs import ROOT, printed

LATE = [
    path.relative_to(ROOT)
    for path in sorted((ROOT / "pullstream").rglob("*.py"))
    if "= late(" in path.read_text() and path.name != "late.py"
]

SELDOM = ("asyncio", "multiprocessing", "adapters", "timely.theory")
SELDOM += tuple(f"pullstream.{name}" for name in ("trace.tracer", "trace.verdict", "journal", "checker", "history"))
"""Modules that a plain program never uses."""


def read(path):
    """The names that a file imports for type checkers, each with its file."""
    (branch,) = [node for node in ast.parse((ROOT / path).read_text()).body if isinstance(node, ast.If)]
    assert all(alias.asname == alias.name for node in branch.body for alias in node.names), "it is exported"
    return {alias.name: node.module for node in branch.body for alias in node.names}


@pytest.mark.parametrize("path", LATE, ids=str)
def test_type_checkers_see_published_names(path):
    """All names, each from the same file, and no others."""
    late = importlib.import_module(module(path))
    checked = read(path)

    assert sorted(checked) == late.__all__
    for name, file in checked.items():
        exec(f"from {file} import {name} as found", found := {})
        assert getattr(late, name) is found["found"]
    assert checked.keys() <= set(dir(late))
    with pytest.raises(AttributeError, match=f"module '{module(path)}' has no attribute 'nothing'"):
        late.nothing  # noqa: B018


@pytest.mark.parametrize("path", [path for path in LATE if path.name == "__init__.py"], ids=str)
def test_no_file_hides_a_published_name(path):
    """An imported submodule becomes an attribute of its package, and would hide a published name."""
    beside = {file.stem for file in (ROOT / path).parent.iterdir()}

    taken = {name for name, file in read(path).items() if file != module(path)}
    assert not taken & beside


@pytest.mark.parametrize("path", LATE, ids=str)
def test_annotations_can_be_resolved_at_run_time(path):
    """`get_type_hints` works, for example for checkers of calls: no signature has a name only for type checkers."""
    late = importlib.import_module(module(path))
    things = [getattr(late, name) for name in late.__all__]
    things += [each for thing in things if inspect.isclass(thing) for each in vars(thing).values()]

    for thing in things:
        if inspect.isfunction(thing):
            get_type_hints(thing)


@pytest.mark.parametrize(
    ("module", "name", "hint"),
    [
        ("pullstream", "live", "it is now called catch_up"),
        ("pullstream", "count", r"it is now called integers; .* reduce\(agg.count\(\)\)"),
        ("pullstream", "Running", "it is types.Running, with `from pullstream import types`"),
        ("pullstream", "Kernel", "it is authoring.Kernel, with"),
        ("pullstream", "write_jsonl", "it is files.write_jsonl, with `from pullstream import files`"),
        ("pullstream", "files", "it is a module: `from pullstream import files`"),
        ("pullstream", "display", "`from pullstream.display import display`"),
        ("pullstream", "open", r"`async with pipeline.open\(\) as running:`"),
        ("pullstream", "reduce_by_keys", r"did you mean reduce_by_key\?"),
        ("pullstream", "file", r"did you mean files\?"),
        ("pullstream", "distinct", r"unique\(key\) .* unique_by_time\(key\)"),
        ("pullstream.tables", "read_table", r"tables\.read_rows\(target, query, time=column\)"),
        ("pullstream.spark", "read", r"spark\.from_dataframe\(df\)"),
        ("pullstream.columns", "group_by", r"reduce_by_key\(\*keys"),
        ("pullstream.columns", "len", r"count\(\) counts rows"),
        ("pullstream.files", "scan_parquet", r"read_parquet\(path\)"),
        ("pullstream.authoring", "Batch", "ps.Batch, with `import pullstream as ps`"),
        ("pullstream.files", "read_jsonls", r"did you mean read_jsonl\?"),
        ("pullstream.errors", "TimeDomainError", "the errors of times are in timely, with"),
        ("pullstream.authoring", "TimedBatch", "it is now called Batch.of"),
    ],
)
def test_a_missing_name_has_a_hint(module, name, hint, monkeypatch):
    """By attribute and by import: the hint has the new name, the place, or the name that was probably meant."""
    if module in {"pullstream.columns", "pullstream.files", "pullstream.tables"}:
        pytest.importorskip("pyarrow")
    found = importlib.import_module(module)
    monkeypatch.delattr(found, name, raising=False)
    with pytest.raises(AttributeError, match=f"module '{module}' has no attribute '{name}': .*{hint}"):
        getattr(found, name)
    if name not in hints.DOORS:
        with pytest.raises(ImportError, match=f"cannot import name '{name}' from '{module}': .*{hint}"):
            exec(f"from {module} import {name}")


def test_a_module_is_imported_without_a_search_for_hints():
    """Python asks the package for the module's name first, and a hint would load all other modules."""
    program = "from pullstream import columns; import sys; print('pullstream.incremental' in sys.modules)"
    assert printed("-c", program) == "False\n"


@pytest.mark.parametrize(
    ("name", "hint"),
    [("avg", "use mean"), ("quantil", r"did you mean quantile\?"), ("stddev", r"write a Fold\(initial")],
)
def test_a_missing_fold_has_a_hint(name, hint):
    """Names from other libraries, typos, and unknown names."""
    with pytest.raises(AttributeError, match=f"has no attribute '{name}': {hint}"):
        getattr(ps.agg, name)


@pytest.mark.parametrize("name", ["never_heard_of", "race", "take_value", "throwing", "head_of"])
def test_an_unrelated_name_has_no_wrong_hint(name):
    """Another name is offered only if a typo explains the difference."""
    assert "did you mean" not in hints.hint("pullstream", name)


def test_every_hint_names_what_exists():
    """A hint that leads nowhere is worse than none."""
    for old, new in hints.RENAMED.items():
        assert old not in ps.__all__
        assert attrgetter(new)(ps)
    assert not {name for names in hints.SOUGHT.values() for name in names.split()} & {*ps.__all__}
    called = {name for text in hints.SOUGHT for name in re.findall(r"(?<![.\w])([a-z_]+)\(", text)}
    assert called - {"lambda", "list", "range", "generator", "display"} <= {*ps.__all__, "f", "test"}
    folds = hints.IN_MODULES["agg"]
    assert not {name for names in folds.values() for name in names.split()} & {*ps.agg.__all__}
    assert {re.findall("[a-zA-Z_]+", text)[1] for text in folds} <= {*ps.agg.__all__, "Fold"}


def test_few_names_at_the_top():
    """Modules to compose, to run, and to write modules; everything else is in another package."""
    assert len(ps.__all__) <= 120


def module(path):
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_a_plain_program_loads_what_it_uses():
    program = """
import sys
import pullstream as ps
assert "trio" not in sys.modules
assert ps.run(ps.pipe(ps.values(range(3)), ps.map(lambda n: n + 1), ps.collect())) == [1, 2, 3]
print(*sys.modules)
"""
    loaded = printed("-c", program).split()

    assert "pullstream.program.run" in loaded
    assert [name for name in loaded if any(f"{name}.".startswith(f"{seldom}.") for seldom in SELDOM)] == []
