"""The tests notice faults: break one line of the tracker at a time, and the comparison must fail each time."""

import importlib.util
import random
import sys
from pathlib import Path

import pytest

import timely

MUTANTS = [
    ("plan", "times += source.front", "times = list(source.front)", "a fan-in loses all but the last predecessor"),
    (
        "plan",
        "if end == spot.place and summary.advances:",
        "if end == spot.place:",
        "loops that leave a context lose a path",
    ),
    (
        "plan",
        "for previous, summary in graph.predecessors[place]:",
        "for previous, summary in graph.predecessors[place][:1]:",
        "one way in",
    ),
    (
        "counting",
        "if self._began != (self.beginnings > 0):",
        "if self.beginnings > 0:",
        "BEGINNING never leaves a loop",
    ),
    ("counting", "return (BEGINNING,) if self._began else", "return", "BEGINNING never enters a loop"),
    (
        "counting",
        "for changed, sign in differences(before, arrivals.elements):",
        "for changed, sign in []:",
        "loops forget",
    ),
    ("counting", "self.pending[key] += delta", "self.pending[key] = delta", "work for one visit is not added up"),
    ("tracker", "for end, summary in spot.pushes:", "for end, summary in []:", "nothing enters a loop"),
    ("tracker", "for follower in spot.followers:", "for follower in []:", "nothing is passed on"),
    (
        "tracker",
        "time = summary.results_in(time)",
        "summary.results_in(time)",
        "the way to the next spot changes no time",
    ),
    ("tracker", "return appeared + vanished", "return appeared", "vanished pointstamps are not noticed"),
    (
        "mutable",
        "heads = [head for head in self._chains.heads() if less_equal(time, head)]",
        "heads = []",
        "times that were covered do not become minimal",
    ),
]


class Broken:
    """The package imported anew with one line changed, in place of the real one while in use."""

    def __init__(self, module, line, instead):
        source = Path(timely.__file__).with_name(f"{module}.py").read_text()
        assert source.count(line) == 1, f"{line!r} occurs {source.count(line)} times in {module}.py"
        self.name, self.source = f"timely.{module}", source.replace(line, instead)

    def __enter__(self):
        self.saved = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "timely"}
        sys.meta_path.insert(0, self)
        return self

    def __exit__(self, *_):
        sys.meta_path.remove(self)
        for name in [name for name in sys.modules if name.split(".")[0] == "timely"]:
            del sys.modules[name]
        sys.modules.update(self.saved)

    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self) if name == self.name else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        exec(compile(self.source, self.name, "exec"), module.__dict__)


def load(name):
    """A test file as a fresh module, importing whichever `timely` is in place."""
    spec = importlib.util.spec_from_file_location(f"{name}_for_mutants", Path(__file__).parent / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compare(seeds):
    """The tests' own comparison of tracker and query; raises where they differ."""
    support, tests = load("conftest"), load("test_tracker")
    for seed in seeds:
        tests.follow_arbitrary(support.Maker(random.Random(seed)).make())
    tests.test_a_loop_left_and_entered_again()


@pytest.mark.slow
@pytest.mark.parametrize(("module", "line", "instead", "why"), MUTANTS, ids=[why for *_, why in MUTANTS])
def test_a_broken_line_is_noticed(module, line, instead, why):
    """The comparison that passes with the real code fails with the broken one."""
    compare(range(5))
    broken = Broken(module, line, instead)
    with broken, pytest.raises(Exception) as caught:
        compare(range(60))
    assert not isinstance(caught.value, SyntaxError | ImportError | NameError), why
