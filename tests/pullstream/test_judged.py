"""The conformance kit can be trusted: it names the rule that a wrong module breaks, and passes correct modules.

The modules are those of `judged`, each with a mistake that people make. The same kit judges the ready-made modules,
which are correct, and correct and wrong answers to the tutorials' exercises (`tests/tutorials/test_exercises.py`).
"""

import re

import pytest

import pullstream as ps
from pullstream.checker import Violation
from pullstream.conformance import Report, Subject, conformance
from tests.pullstream.judged import wrong
from tests.sampling import amount

WRONG = {subject.name: (subject, rules) for subject, rules in wrong.WRONG}

PRIVATE = re.compile(r"(?<![\w'\"(])_[A-Za-z]\w*|Cell\(|<locals>")


def named(value):
    return getattr(value, "name", "")


def one_for_each_rule():
    """All wrong modules as parameters; those after the first one that breaks a rule are slow."""
    seen = set()
    for subject, rules in wrong.WRONG:
        yield pytest.param(subject, rules, marks=pytest.mark.slow if rules <= seen else ())
        seen |= rules


@pytest.mark.parametrize(("subject", "rules"), [*one_for_each_rule()], ids=named)
def test_a_wrong_module_is_caught_by_name(subject, rules):
    for seed in range(amount(1, 3)):
        first = only(conformance(subject, cells=60, limit=0.5 if "spin" in rules else 20, seed=seed))
        assert first.rule in rules
        assert first.words
        assert first.hint
        assert first.scene.endswith(".")
        assert str(first).count("\n") < 30
        assert not PRIVATE.search(str(first)), first


def test_a_second_request_for_a_time_replaces_the_first():
    @ps.transformer
    class Counts(ps.authoring.Notified):
        def receive(self, batch):
            self.notify(batch.time, batch.time)

        def complete(self, time):
            self.give(time, ["result"])

    conformance(Counts, flushes=True, replay="values=5 limit=1 many=in-order quiet=True").check()


# ---- what a finding says


def only(report: Report):
    return report.first(1)[0]


def test_findings_are_simple():
    finding = only(conformance(ps.reduce_by_time(ps.agg.max()), cells=40))

    assert finding.rule == "R8"
    assert "flushes=True" in finding.hint
    assert finding.cell.limit == 1
    assert finding.scene.startswith("Upstream emits one value, and then fails.")

    finding = only(conformance(wrong.OneBatch, cells=100))
    assert finding.scene == "Upstream emits 2 values. It is asked for values up to 2 at a time. Nothing disturbs it."
    assert finding.place.startswith("tests/pullstream/judged/wrong.py:")

    finding = only(conformance(WRONG["works in the background"][0], cells=60))
    assert finding.rule == "early"
    assert "per_time" not in str(finding)

    open_times = Subject("first of each row", wrong.first_of_each_row, batches=True, per_time=True)
    finding = only(conformance(open_times, replay="values=3 limit=1 many=interleaved"))
    assert finding.rule == "early"
    assert "leave out per_time=True" in finding.hint


def test_findings_explain_missing_rights():
    findings = {
        name: only(conformance(WRONG[name][0], cells=60))
        for name in ("forgets the hold", "at an earlier time", "again at the end")
    }

    assert "released it" in findings["forgets the hold"].hint
    assert "never had a right to it" in findings["at an earlier time"].hint
    assert "nothing after that" in findings["again at the end"].hint


@pytest.mark.slow
def test_a_spinning_module_is_not_awaited():
    report = conformance(WRONG["never gives up"][0], WRONG["one batch, a sink"][0], cells=20, limit=2)

    assert {finding.subject: finding.rule for finding in report.findings} == {
        "never gives up": "spin",
        "one batch, a sink": "batching",
    }
    spins = report.findings[0]
    assert spins.place.startswith("tests/pullstream/judged/wrong.py:")
    assert "never_gives_up" in spins.message


def test_batches_are_shared():
    """Only the module that changes one is named, not a module in between, nor another one that received it."""

    def rule_and_module(*modules):
        with pytest.raises(Violation) as caught:
            ps.run(ps.pipe(*modules), check=True, limit=1)
        return caught.value.rule, caught.value.module

    changing = wrong.changes_its_batch()
    assert rule_and_module(wrong.OneList(), ps.prefetch(2), ps.collect()) == ("sharing", "OneList")
    for capacity in (0, 3):
        both = ps.tee(ps.collect(), changing, capacity=capacity)
        rule, module = rule_and_module(ps.values([1, 2, 3, 4]), ps.map(abs), both)
        assert (rule, module) == ("sharing", "changes_its_batch")
