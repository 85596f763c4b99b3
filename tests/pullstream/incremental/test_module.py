"""A program as a module: times, completion, demand, failures, what it refuses."""

import re
from types import SimpleNamespace

import pytest
import trio
import trio.testing

import pullstream as ps
from pullstream.conformance import Subject, conformance
from pullstream.errors import CompositionError
from pullstream.incremental import (
    DivergenceError,
    MultiplicityError,
    change_of,
    explain,
    integrate,
    iterate,
    maintain,
    upserts,
)
from tests.pullstream.common import script, until_failure
from tests.pullstream.incremental.programs import run


def counted(records):
    return records.count()


async def test_changes_are_emitted_when_their_time_completes(autojump_clock):
    """Once a time is complete, a sink has all of its changes; incomplete times are not computed."""
    seen = []

    twice = [("a", 1)], [("a", 1), ("b", 1)]
    feed = script(*(part for time in range(3) for changes in twice for part in (ps.Batch(time, changes), 1.0)))
    async with ps.pipe(feed, maintain(counted), ps.drain(seen.append)).open() as running:
        await trio.sleep(1.5)
        assert seen == []
        await running.progress.completed(0)
        assert seen == [(("a", 2), 1), (("b", 1), 1)]
        await running.progress.completed(1)
        assert len(seen) == 6
        await running.result()


async def test_explain_names_the_program_s_inputs(autojump_clock):
    seen = []

    feed = script(*(part for name in ("left", "right") for part in (ps.Batch(0, [(name, ("k", 1), 1)]), 1.0)))
    program = maintain(lambda left, right: left.join(right))
    async with ps.pipe(feed, program, ps.drain()).open() as running:
        for _ in range(2):
            await trio.sleep(0.6)
            seen.extend(map(str, running.progress.explain(0)))
        await running.result()
    assert "maintain, left holds 0 -> drain" in seen
    assert "maintain, left, right holds 0 -> drain" in seen


def test_several_inputs_and_outputs_have_names():
    def both(left, right):
        return {"joined": left.join(right), "alone": left.antijoin(right.map(lambda pair: pair[0]))}

    assert run(both, (0, ("left", ("k", 1), 1)), (1, ("right", ("k", 2), 1))) == [
        (0, ("alone", ("k", 1), 1)),
        (1, ("joined", ("k", (1, 2)), 1)),
        (1, ("alone", ("k", 1), -1)),
    ]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "subject",
    [
        Subject(
            "maintain",
            lambda: maintain(lambda numbers: numbers.map(lambda n: n)),
            flushes=True,
            values=lambda n: (n, 1),
        ),
        Subject("upserts", lambda: upserts(lambda n: n), flushes=True),
        Subject("integrate", integrate, flushes=True, batches=True, values=lambda n: (n, 1)),
    ],
    ids=lambda subject: subject.name,
)
def test_the_modules_pass_the_conformance_kit(subject):
    assert conformance(subject).check().cells.total() > 100


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("a", "'a' is not a change: this program takes (record, diff)"),
        (("a", 1, 2), "('a', 1, 2) is not a change: this program takes (record, diff)"),
        (("a", 1.0), "('a', 1.0) has the diff 1.0: a diff is an int, how many times the record is added"),
        (("a", True), "('a', True) has the diff True: a diff is an int, how many times the record is added"),
        ((["a"], 1), "['a'] cannot be a record, because it is not hashable: make it a tuple"),
    ],
)
def test_a_malformed_change_fails_after_earlier_results(change, words):
    source = ps.values([(0, ("b", 1)), (1, change)], time=lambda pair: pair[0])
    stream = ps.pipe(source, ps.map(lambda pair: pair[1]), maintain(counted))
    assert until_failure((TypeError, ValueError), stream, match=re.escape(words))[0] == [(("b", 1), 1)]


def endless(numbers):
    return numbers.iterate(lambda n: n.map(lambda x: x + 1).concat(numbers), rounds=20)


@pytest.mark.parametrize(
    ("program", "changes", "error", "words"),
    [
        (counted, [("a", 1), ("a", -2)], MultiplicityError, "count() at *test_module.py:*: 'a' has the count -1"),
        (lambda pairs: pairs.min(), [(("k", 3), -1)], MultiplicityError, "min() at *: ('k', 3) has the count -1"),
        (lambda pairs: pairs.sum(), [(("k", 3), 1), (("k", 2), -1)], MultiplicityError, "sum() at "),
        (lambda pairs: pairs.sum(), [(("k", 0.1), 1)], TypeError, "sum() adds only integers, * 'k' has the value 0.1"),
        (endless, [(0, 1)], DivergenceError, "iteration at *test_module.py:* still changes after 20 rounds: 21"),
        (lambda numbers: numbers.map(lambda n: 1 // n), [(0, 1)], ZeroDivisionError, "in map() at *test_module.py:*"),
        (lambda pairs: pairs.min(), [(("k", 1), 1), (("k", "a"), 1)], TypeError, "in min() at *.py:*, for 'k'"),
        (
            lambda words: words.join(words),
            [("ab", 1)],
            TypeError,
            "join() works by key and needs records that are pair",
        ),
        (
            lambda left, right: left.concat(right),
            [("mid", 1, 1)],
            ValueError,
            "'mid', but this program takes left, rig",
        ),
        (lambda left, right: left, [(1, 1)], TypeError, "takes (name, record, diff), with a name of left, right"),
        *(
            (program, [(("k", 1), 1)], TypeError, f"unhashable*in {verb}() at *.py:*: its results must be hashable")
            for verb, program in {
                "map": lambda pairs: pairs.map(list),
                "reduce": lambda pairs: pairs.reduce(lambda key, values: [list(values)]),
                "join": lambda pairs: pairs.join(pairs, lambda key, one, two: [one, two]),
            }.items()
        ),
    ],
)
def test_a_failure_names_the_verb_and_its_line(program, changes, error, words):
    with pytest.raises(error) as caught:
        run(program, *((0, change) for change in changes))
    text = "\n".join([str(caught.value), *caught.value.__notes__])
    assert re.search(re.escape(words).replace(r"\*", ".*"), text, re.DOTALL)
    assert "raised in maintain" in text


def test_counts_are_checked_when_their_time_completes():
    """Within a time, changes arrive in any order."""
    assert run(counted, (0, ("a", -1)), (0, ("a", 1)), (0, ("a", 1))) == [(0, (("a", 1), 1))]
    changes = ps.pipe(ps.values([(0, 1), (1, -2)], time=lambda c: c[0]), ps.map(lambda c: ("a", c[1])))
    with pytest.raises(MultiplicityError, match=r"integrate.*'a' has the count -1 at 1"):
        ps.run(ps.pipe(changes, integrate(), ps.drain()))


def test_an_iteration_may_take_all_of_its_rounds():
    def ending(numbers):
        return numbers.iterate(lambda n: n.map(lambda x: min(x + 1, 20)).concat(numbers).distinct(), rounds=20)

    assert len(run(ending, (0, (0, 1)))) == 21


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (7, "maintain() at * needs a program, a function from collections to collections, but got 7"),
        (
            lambda: None,
            "at *test_module.py:*: a program is a function with a named parameter for each input collection",
        ),
        (lambda *several: several[0], "a program is a function with a named parameter for each input collection"),
        (lambda edges: None, "at *test_module.py:*: a program must return a collection*, not None"),
        (lambda edges: 7, "a program must return a collection, or a dict of collections by name, not 7"),
        (lambda edges: {}, "a program must return a collection, or a dict of collections by name, not {}"),
        (lambda edges: edges.concat(7), "concat() at * needs collections, but got 7"),
        (
            lambda edges: edges.join(edges, lambda key, value: key),
            "join() at *test_module.py:* the key and the value and the value of other, but <lambda> takes (key, value)",
        ),
        (lambda edges: edges.join(edges, 7), "join() at * needs a function, but got 7"),
        (lambda edges: edges.reduce(lambda values: []), "reduce() at * calls its function with the key and the counts"),
        (lambda edges: edges.threshold(abs), "threshold() at * calls its function with the record and its count"),
        (lambda edges: edges.top(0), "top() at * needs a whole number of at least 1, but got 0"),
        (lambda edges: edges.top(2.5), "top() at * needs a whole number of at least 1, but got 2.5"),
        (
            lambda edges: edges.iterate(lambda n: 7),
            "the body of iterate() at * must return collections, but returned 7",
        ),
        (
            lambda edges: iterate(lambda one, two: one, edges, edges)[0],
            "the body of iterate() at * must return a tuple of 2 collections",
        ),
    ],
)
def test_invalid_programs_are_refused_when_composing(program, words):
    with pytest.raises(CompositionError, match=re.escape(words).replace(r"\*", ".*")):
        maintain(program)


@pytest.mark.parametrize(
    "use", [lambda edges: [*edges], lambda edges: len(edges) > 1, lambda edges: edges[0], lambda edges: edges + edges]
)
def test_using_a_collection_as_its_records_is_explained(use):
    """It has no records yet."""
    with pytest.raises(TypeError, match="Collection") as caught:
        maintain(use)
    assert "a collection has no records yet when the program is called" in caught.value.__notes__[0]


def test_a_loop_s_collection_is_refused_outside_the_loop():
    inside = []

    def program(edges):
        return edges.iterate(lambda n: inside.append(n) or n.distinct()).concat(inside[0])

    with pytest.raises(CompositionError, match="from inside an iteration is used outside it: return it from the body"):
        maintain(program)


def test_a_missing_record_has_no_explanation():
    with pytest.raises(LookupError, match=r"\(99, 99\) is not in the program's output for this input"):
        explain(lambda edges: edges.distinct(), {"edges": [(1, 2)]}, (99, 99))


# ---- rows of a change feed


@pytest.mark.parametrize(
    ("kind", "diff"), [("insert", 1), ("update_postimage", 1), ("update_preimage", -1), ("delete", -1)]
)
def test_feed_rows_become_changes(kind, diff):
    row = {"_commit_version": 3, "id": 7, "_change_type": kind, "item": "tea", "_commit_timestamp": 1}
    assert change_of(row) == ((7, "tea"), diff)


@pytest.mark.parametrize(
    ("row", "error", "words"),
    [
        ({"id": 7, "_change_type": "upsert"}, ValueError, "_change_type must be one of insert, update_postimage"),
        ({"id": 7, "_change_type": None}, ValueError, "_change_type must be one of insert, update_postimage"),
        ({"id": 7, "item": "tea"}, TypeError, "a row with the columns id, item is not from a change feed"),
        ((7, "insert"), TypeError, r"needs the names of columns, but \(7, 'insert'\) has none"),
        (SimpleNamespace(id=7), TypeError, "needs the names of columns"),
    ],
)
def test_rows_not_from_a_feed_are_refused(row, error, words):
    with pytest.raises(error, match=words):
        change_of(row)
