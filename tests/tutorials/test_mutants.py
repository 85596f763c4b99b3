"""The judge finds nearly every mistake that can be made in a solution by a slip of the pen.

Each solution is changed in one place: an `await` dropped, a hold, a request to be told or to be called left out, two
lines swapped, a limit set to a thousand. What is still right is listed below, each with its reason.
"""

import ast
from collections.abc import Iterator

import pytest

from tutorials.exercises import EXERCISES
from tutorials.judging.process import judged_apart

SURVIVORS = {
    ("politely", "swapped: self.time = 0"): "two attributes, set one before the other",
    ("pairs", "swapped: nursery.start_soon(ask, 0)"): "tasks of one step begin in any order",
    ("largest", "swapped: ctx.notify_at(time)"): "nobody else runs between the two lines",
    ("one_behind", "without_line: held.close()"): "at the end every hold is let go of",
    ("read_ahead", "swapped: hold.enter_context(ctx.hold(batch.time))"): "the task goes on before the batch is yielded",
    ("reach", "swapped: ctx.notify_at(time)"): "nobody else runs between the two lines",
    ("takings", "swapped: ctx.memory.at(batch.time)[item] = total"): "a day is not done before its last batch is",
    ("record", "swapped: if time != at:"): "a batch may be sent before the source goes on to its time",
}
"""Mutants that are no mistake, or none that a judge could see: by exercise and what was changed."""

JUDGED = [exercise for exercise in EXERCISES if exercise.name not in {"which_rule", "when", "one_ahead"}]
"""Exercises whose solutions do something; the others say what would happen."""


def mutants(source: str) -> Iterator[tuple[str, str]]:
    """What was changed, and the text with the change, for each place in which something can be."""
    seen = set()
    for n in range(len(list(ast.walk(ast.parse(source))))):
        for change in (without_await, without_line, without_hold, swapped, with_a_thousand):
            tree = without_docstrings(ast.parse(source))
            if n >= len(list(ast.walk(tree))):
                return
            node = list(ast.walk(tree))[n]
            changed = change(tree, node)
            text = ast.unparse(tree)
            if changed and text not in seen:
                seen.add(text)
                yield f"{change.__name__}: {changed}", text


def without_docstrings(tree):
    """What runs: prose is nothing that could be changed."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(
            node
        ):
            node.body = node.body[1:]
    return tree


def without_await(tree, node):
    """An `await` is dropped."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Await):
        node.value = node.value.value
        return ast.unparse(node)
    return None


def without_line(tree, node):
    """A call is left out whose result nobody wants."""
    body = getattr(node, "body", None)
    for statement in body if isinstance(body, list) else ():
        call = getattr(statement, "value", None)
        if isinstance(statement, ast.Expr) and isinstance(call, (ast.Call, ast.Await)):
            body[body.index(statement)] = ast.Pass()
            return ast.unparse(statement)
    return None


def without_hold(tree, node):
    """A `with` is dissolved."""
    body = getattr(node, "body", None)
    for statement in body if isinstance(body, list) else ():
        if isinstance(statement, ast.With):
            place = body.index(statement)
            body[place : place + 1] = statement.body
            return ast.unparse(statement.items[0])
    return None


def swapped(tree, node):
    """Two lines change places."""
    body = getattr(node, "body", None)
    if isinstance(node, ast.Module) or not isinstance(body, list) or len(body) < 2:
        return None
    if any(isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) for statement in body[-2:]):
        return None
    body[-2:] = body[:-3:-1]
    return ast.unparse(body[-1]).partition("\n")[0]


def with_a_thousand(tree, node):
    """A limit becomes a thousand."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"ask", "read"}:
        node.args = [ast.Constant(1000)]
        return ast.unparse(node)
    return None


@pytest.mark.slow
@pytest.mark.parametrize("exercise", JUDGED, ids=lambda exercise: exercise.name)
def test_a_slip_of_the_pen_is_found(exercise, tmp_path):
    """Whatever is changed in a solution, it is not right any more."""
    right = []
    tried = list(mutants(exercise.solution.read_text()))
    for what, text in tried:
        answer = tmp_path / exercise.template.name
        answer.write_text(text)
        if judged_apart(exercise, answer, limit=10).right:
            right.append(what)

    assert tried
    assert [what for what in right if (exercise.name, what) not in SURVIVORS] == []


def test_a_mutant_is_found(tmp_path):
    """One for every day: the first of one exercise."""
    exercise = next(exercise for exercise in JUDGED if exercise.name == "largest")
    answer = tmp_path / exercise.template.name
    what, text = next(mutants(exercise.solution.read_text()))
    answer.write_text(text)
    assert not judged_apart(exercise, answer).right, what
