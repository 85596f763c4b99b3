"""The judge finds nearly every mistake that can be made in a solution by a slip of the pen.

Each solution is changed in one place, in each way in which it can be: an `await` dropped, a line or a `with` left out,
a hold and a request to be told among them; two lines swapped, a limit set to a thousand, one word taken for another, a
number one more. At least 95 in a hundred are found; what is still right is listed below, each with its reason.
"""

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from operator import delitem, setitem

import pytest

from tutorials.exercises import EXERCISES
from tutorials.judging.process import judged_apart

SURVIVORS = {
    "politely": {
        "without_line: self.time = 0": "the time is set with the first words",
        "one_more: self.time = 1": "the time is set with the first words",
        "swapped: words, self.left = (self.left[:limit], self.left[limit:])": "after its end no words are left",
        "one_more: async def ask(self, limit=2):": "whoever asks says for how many",
    },
    "pairs": {"swapped: nursery.start_soon(ask, 1)": "tasks of one step begin in any order"},
    "read_ahead": {"swapped: await send.send((batch, hold))": "the task goes on before the batch is yielded"},
    "report": {
        "one_more: return ps.pipe(ps.values(sales), ps.stamp(lambda sale: sale[0], lateness=7), "
        "ps.map_time(lambda hour: hour // 24), ps.reduce_by_time(ps.Fold(Counter, count)), ps.map(dict), "
        "ps.collect(timed=True))": "who allows for more is told later, which the result of a run does not show",
    },
    "largest": {
        "swapped: found[time] = max([found[time], *values] if time in found else values)": "nobody runs between",
    },
    "one_behind": {
        "without_line: held.close()": "at the end every hold is let go of",
        "swapped: if kept is not None: #2": "the batch that is worked on is held until the next ask",
    },
    "proofs": {"swapped: for there, then in onward(place, waited):": "what is found goes into a set"},
    "no_later": {"swapped: mine, theirs = (counts(p), [0] * more + counts(q))": "what is counted is not looked at"},
    "find_cycles": {
        "one_more: return LoopSummary(summary.up, int(summary.strict), (1,) * summary.down)": "what a loop is entered "
        "with has no part in whether it is left later",
    },
    "reach": {
        "swapped: arrived.setdefault(time, []).extend(pages)": "nobody runs between",
        "swapped: onward = dict.fromkeys((link for page in new for link in links[page]))": "neither looks at the other",
    },
    "record": {"swapped: events.append(Sent('in', time))": "a batch may be sent before the source goes on to its time"},
    "takings": {"swapped: yield ps.Batch(batch.time, [(item, total)])": "a day is not done before its last batch is"},
}
"""Mutants that are no mistake, or none that a judge could see: by exercise, what was changed, and the reason."""

DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

Change = Callable[[ast.AST], Iterator[Callable[[], None]]]
"""What could be changed at a node."""


PAIRS = (
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
    (ast.Eq, ast.NotEq),
    (ast.In, ast.NotIn),
    (ast.Is, ast.IsNot),
    (ast.And, ast.Or),
    (ast.Add, ast.Sub),
    (ast.FloorDiv, ast.Mult),
)
OTHERS = {ast.BitOr: ast.BitAnd, ast.Mod: ast.FloorDiv, **dict(PAIRS), **{other: one for one, other in PAIRS}}
"""What is taken for what."""


def mutants(source: str) -> Iterator[tuple[str, str]]:
    """What was changed, and the text with the change, once each."""
    whole = without_docstrings(ast.parse(source))
    before = ast.unparse(whole)
    texts, told = {before}, Counter[str]()
    for n, node in enumerate(ast.walk(whole)):
        for change in CHANGES:
            for k in range(len([*change(node)])):
                tree = copy.deepcopy(whole)
                [*change([*ast.walk(tree)][n])][k]()
                text = ast.unparse(tree)
                if text not in texts:
                    texts.add(text)
                    what = f"{change.__name__}: {difference(before, text)}"
                    told[what] += 1
                    yield f"{what} #{told[what]}" if told[what] > 1 else what, text


def without_docstrings(tree: ast.Module) -> ast.Module:
    """What runs: prose is nothing that could be changed."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            node.body = node.body[1:] if ast.get_docstring(node) else node.body
    return tree


def difference(before, text):
    """The first line that is another, as it is now; or as it was, if it went."""
    old, new = next((old, new) for old, new in zip(before.splitlines(), text.splitlines(), strict=False) if old != new)
    return (old if new.strip() == "pass" else new).strip()


def bodies(node):
    """The blocks of lines below a node."""
    found = (getattr(node, name, None) for name in ("body", "orelse", "finalbody"))
    return [body for body in found if isinstance(body, list)]


def without_await(node):
    """An `await` is dropped."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Await):
        yield partial(setattr, node, "value", node.value.value)


def without_line(node):
    """A line is left out: a call whose result nobody wants, what is assigned, what goes on or ends."""
    for body in bodies(node):
        for place, line in enumerate(body):
            simple = isinstance(line, (ast.Assign, ast.AugAssign, ast.Delete, ast.Continue, ast.Break, ast.Raise))
            if simple or (isinstance(line, ast.Expr) and isinstance(line.value, (ast.Call, ast.Await))):
                yield partial(setitem, body, place, ast.Pass())


def without_with(node):
    """A `with` is dissolved: a hold, a scope, a nursery that nobody names."""
    for body in bodies(node):
        for place, line in enumerate(body):
            if isinstance(line, ast.With):
                yield partial(setitem, body, slice(place, place + 1), line.body)


def swapped(node):
    """Two lines change places, where one of them has to do with the other."""
    for body in [] if isinstance(node, ast.Module) else bodies(node):
        for place, (one, other) in enumerate(pairwise(body)):
            defined = isinstance(one, DEFINED) or isinstance(other, DEFINED)
            if not defined and not (
                isinstance(one, ast.Assign) and isinstance(other, ast.Assign) and apart(one, other)
            ):
                yield partial(setitem, body, slice(place, place + 2), [other, one])


def apart(one, other):
    """Whether two assignments have nothing to do with each other, so that their order is nobody's business."""
    sets = [{ast.unparse(target) for target in line.targets} for line in (one, other)]
    uses = [{ast.unparse(part) for part in ast.walk(line.value)} for line in (one, other)]
    return not (sets[0] & (sets[1] | uses[1]) or sets[1] & uses[0])


def with_a_thousand(node):
    """A limit becomes a thousand."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"ask", "read"}:
        yield partial(setattr, node, "args", [ast.Constant(1000)])


def another_word(node):
    """One is taken for another: < for <=, in for not in, and for or, + for -."""
    if isinstance(node, (ast.BinOp, ast.BoolOp, ast.AugAssign)) and type(node.op) in OTHERS:
        yield partial(setattr, node, "op", OTHERS[type(node.op)]())
    if isinstance(node, ast.Compare):
        for n, operator in enumerate(node.ops):
            if type(operator) in OTHERS:
                yield partial(setitem, node.ops, n, OTHERS[type(operator)]())


def without_not(node):
    """A `not` is dropped."""
    if isinstance(node, (ast.If, ast.While, ast.IfExp)) and isinstance(node.test, ast.UnaryOp):
        yield partial(setattr, node, "test", node.test.operand)


def without_condition(node):
    """What a comprehension picks out is not picked out any more."""
    if isinstance(node, ast.comprehension):
        for n in range(len(node.ifs)):
            yield partial(delitem, node.ifs, n)


def one_more(node):
    """A number is one more."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield partial(setattr, node, "value", node.value + 1)


CHANGES: tuple[Change, ...] = (
    without_await,
    without_line,
    without_with,
    swapped,
    with_a_thousand,
    another_word,
    without_not,
    without_condition,
    one_more,
)


@pytest.mark.slow
@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
def test_a_slip_of_the_pen_is_found(exercise, tmp_path):
    """Whatever is changed in a solution, it is not right any more."""
    answer = tmp_path / exercise.template.name
    right = set()
    for what, text in mutants(exercise.solution.read_text()):
        answer.write_text(text)
        if judged_apart(exercise, answer).right:
            right.add(what)

    assert right - SURVIVORS.get(exercise.name, {}).keys() == set()


def test_few_slips_are_not_found():
    """Those listed are mutants, and at most one in twenty."""
    tried = {exercise.name: dict(mutants(exercise.solution.read_text())).keys() for exercise in EXERCISES}
    assert all(survivors.keys() <= tried[name] for name, survivors in SURVIVORS.items())
    assert sum(map(len, SURVIVORS.values())) <= 0.05 * sum(map(len, tried.values()))


def test_a_slip_is_found(tmp_path):
    """One for every day: the first of one exercise."""
    exercise = next(exercise for exercise in EXERCISES if exercise.name == "largest")
    answer = tmp_path / exercise.template.name
    what, text = next(mutants(exercise.solution.read_text()))
    answer.write_text(text)
    assert not judged_apart(exercise, answer).right, what
