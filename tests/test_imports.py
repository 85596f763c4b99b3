"""The imports between files: no cycle, no import against the layers, and only the doors for adapters.

An import counts wherever it is: at the top, inside a function, or only for type checkers. What the `__init__` of
a package exports counts as one file; importing another file of the package does not count as importing `__init__`.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("timely", "pullstream", "adapters")

LAYERS = (
    ("timely",),
    ("timely.theory",),
    ("pullstream.checkout", "pullstream.timely"),
    (
        "pullstream.protocol",
        "pullstream.errors",
        "pullstream.slips",
        "pullstream.failures",
        "pullstream.frames",
        "pullstream.logger",
        "pullstream.locks",
        "pullstream.late",
        "pullstream.signature",
    ),
    ("pullstream.history",),
    ("pullstream.blueprint",),
    ("pullstream.resuming.memory", "pullstream.resuming.interfaces"),
    (
        "pullstream.engine.traits",
        "pullstream.engine.interfaces",
        "pullstream.engine.observer",
        "pullstream.engine.keeping",
    ),
    ("pullstream.engine.runtime",),
    ("pullstream.engine.sidecar",),
    ("pullstream.engine.run",),
    ("pullstream.engine.edge",),
    ("pullstream.engine.parts",),
    ("pullstream.engine.assembly",),
    ("pullstream.engine.nested",),
    ("pullstream.resuming",),
    ("pullstream.decorators", "pullstream.asyncio_bridge"),
    ("pullstream.modules",),
    ("pullstream.authoring",),
    ("pullstream.checker", "pullstream.journal", "pullstream.trace"),
    ("pullstream.program", "pullstream.types", "pullstream.duplex", "pullstream.hints"),
    ("pullstream",),
    (
        "pullstream.conformance",
        "pullstream.shake",
        "pullstream.doctor",
        "pullstream.learn",
        "pullstream.new",
        "pullstream.incremental",
        "pullstream.__main__",
    ),
    ("adapters",),
    (
        "pullstream.files",
        "pullstream.tables",
        "pullstream.columns",
        "pullstream.spark",
        "pullstream.arrow",
        "pullstream.display",
        "pullstream.metrics",
    ),
)
"""Layers from the bottom up: a file imports only from its own layer and from earlier layers in this list."""

DOORS = (
    "pullstream",
    "pullstream.authoring",
    "pullstream.errors",
    "pullstream.types",
    "pullstream.duplex",
    "pullstream.timely",
)
"""The modules that adapters may import, besides one another."""

LOADERS = ("pullstream.late",)
"""Modules that load names on first use; `test_late` compares their tables with the imports."""

BEHIND = ("timely", "adapters")
"""The folders that are inside `pullstream` when it is installed."""

Graph = Mapping[str, frozenset[str]]


def import_graph(root: Path) -> Graph:
    """The imports of every file in the three packages from these packages."""
    files = {named(path, root): path for package in PACKAGES for path in (root / package).rglob("*.py")}
    return {name: frozenset(imports(path, name, files)) - {name} for name, path in files.items()}


def named(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path, name: str, files: Mapping[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in files)
        elif isinstance(node, ast.ImportFrom):
            module = whole_name(node, name, path)
            for alias in node.names:
                whole = f"{module}.{alias.name}" if module else alias.name
                if whole in files:
                    yield whole
                elif module in files:
                    yield module
        elif isinstance(node, ast.Call) and name not in LOADERS:
            yield from (given for given in imported_by_name(node) if given in files)


def imported_by_name(call: ast.Call) -> Iterator[str]:
    """Yield the names that `import_module` or `__import__` is called with."""
    function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if function in {"import_module", "__import__"}:
        yield from (given.value for given in call.args[:1] if isinstance(given, ast.Constant))


def whole_name(node: ast.ImportFrom, name: str, path: Path) -> str:
    """The full name of the module that a file imports from; folders that move on installation use relative imports."""
    module = node.module or ""
    moves = name.split(".", maxsplit=1)[0] in BEHIND
    if node.level == 0:
        assert not (moves and module.split(".")[0] in BEHIND), f"{name} imports {module}: write a relative import"
        through_a_door = module.split(".")[0] not in BEHIND or name in behind_doors(path)
        assert through_a_door, f"{name} imports {module}: import it from pullstream"
        return module
    assert moves, f"{name} imports from {'.' * node.level}{module}: write the whole name"
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    return ".".join([*package[: len(package) - node.level + 1], *filter(None, [module])])


def behind_doors(path: Path) -> Iterable[str]:
    """The name of a file if it is a door, as only a checkout has."""
    says = path.read_text().partition("\n")[0]
    return [named(path, ROOT)] if "in a checkout" in says else []


def circles(graph: Graph) -> list[list[str]]:
    groups = nx.strongly_connected_components(nx.DiGraph({name: [*found] for name, found in graph.items()}))
    return sorted(sorted(group) for group in groups if len(group) > 1)


def layer(name: str) -> int:
    """The layer of a file: that of its longest prefix in the list; `pullstream` itself stands for its `__init__`."""
    prefixes = {prefix: number for number, row in enumerate(LAYERS) for prefix in row}
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        prefix = ".".join(parts[:length])
        if prefix in prefixes and (prefix != "pullstream" or prefix == name):
            return prefixes[prefix]
    raise AssertionError(f"{name} is in no layer: add it to LAYERS")


def upward(graph: Graph) -> list[tuple[str, str]]:
    return sorted((name, other) for name, found in graph.items() for other in found if layer(other) > layer(name))


def past_the_doors(graph: Graph) -> list[tuple[str, str]]:
    return sorted(
        (name, other)
        for name, found in graph.items()
        for other in found
        if name.split(".")[0] == "adapters" and other.split(".")[0] != "adapters" and other not in DOORS
    )


def listed(arrows: Iterable[tuple[str, str]]) -> str:
    return "\n" + "\n".join(f"{name} -> {other}" for name, other in arrows)


@pytest.fixture(scope="module")
def graph() -> Graph:
    return import_graph(ROOT)


def test_no_import_cycle(graph):
    found = circles(graph)
    inside = [(name, other) for group in found for name in group for other in sorted(graph[name] & set(group))]
    assert not found, listed(inside)


def test_imports_follow_the_layers(graph):
    found = upward(graph)
    assert not found, listed(found)


def test_adapters_use_the_doors(graph):
    found = past_the_doors(graph)
    assert not found, listed(found)


def test_every_layer_has_a_file(graph):
    """A renamed file must be renamed in the list, too."""
    prefixes = {prefix for row in LAYERS for prefix in row}
    assert prefixes <= {prefix for name in graph for prefix in accumulate(name.split("."), "{}.{}".format)}
