"""The benchmark command: every workload runs in every installed toolkit, and a wrong answer gives no figure."""

import sys
import tomllib

import pytest

from tests.benchmarks import __main__ as command, measuring
from tests.benchmarks.catalogue import WORKLOADS
from tests.benchmarks.measuring import Measured
from tests.benchmarks.whole.program import Program, measure
from tests.benchmarks.whole.programs import PROGRAMS
from tests.benchmarks.workload import BY_HAND, HERE, LIMIT, TOOLKITS, version
from tests.programs import ROOT, printed

PEERS = set(TOOLKITS) - {LIMIT, HERE, BY_HAND, "Spark"}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("toolkit", [toolkit for toolkit in TOOLKITS if toolkit not in (LIMIT, "Spark")])
def test_every_way_equals_the_limit(toolkit):
    if version(toolkit) is None:
        pytest.skip(f"{toolkit} is not installed")
    assert printed("-m", "tests.benchmarks.smoke", toolkit).count(": right") > 2


def test_every_workload_has_a_limit_and_ours():
    for workload in WORKLOADS.values():
        assert LIMIT in workload.ways, workload.name
        assert HERE in workload.ways, workload.name
        assert workload.smoke <= workload.quick <= workload.full


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_whole_programs_equal_those_by_hand(program):
    measure(program, 40, 0)


def test_different_answers_or_files_of_a_whole_program_fail():
    def prepare(size):
        return {HERE: lambda folder: (folder / "day").write_text("tea"), BY_HAND: lambda _: 3}

    with pytest.raises(AssertionError, match="broken: the ways' answers or files differ"):
        measure(Program("broken", "", 1, 1, prepare), 1, 0)


def test_the_group_has_every_peer():
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    assert {requirement.split(">=")[0] for requirement in groups["bench"]} == PEERS


def found(seconds=1.0, digest="same"):
    return Measured(seconds, seconds, 1.0, digest, digest)


@pytest.fixture
def measured(monkeypatch):
    asked = []
    given = {LIMIT: found(0.5)}

    def in_a_process(workload, way, size, seconds):
        asked.append((workload.name, way))
        return given.get(way, found())

    monkeypatch.setattr(measuring, "in_a_process", in_a_process)
    in_a_process.asked, in_a_process.given = asked, given
    return in_a_process


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["benchmarks", *arguments])
    return command.main()


def test_the_limit_is_measured_before_each_way(measured, monkeypatch, capsys):
    assert run(monkeypatch, "--only", "W1", "W2", "--toolkits", HERE, BY_HAND, "--repeat", "2") == 0
    turn = [(name, way) for name in ("W1", "W2") for own in (HERE, BY_HAND) for way in (LIMIT, own)]
    assert sorted(measured.asked) == sorted(turn * 2)
    assert measured.asked[: len(turn)] == measured.asked[len(turn) :]  # rounds over all, not one way after another
    assert [way for _, way in measured.asked[::2]] == [LIMIT] * (len(turn))
    assert "2.00 (2.00 to 2.00)" in capsys.readouterr().out


def test_a_wrong_answer_is_an_error(measured, monkeypatch, capsys):
    measured.given[HERE] = found(digest="another")
    assert run(monkeypatch, "--only", "W1", "--toolkits", HERE, BY_HAND, "--repeat", "3") == 1
    printed = capsys.readouterr()
    assert "W1 pullstream: wrong answer: another instead of same" in printed.err
    assert [row for row in printed.out.splitlines() if "fresh" in row and "pullstream" in row] == []
    assert measured.asked.count(("W1", HERE)) == 1  # once is enough


def test_the_command_measures_in_processes_and_writes_the_page(tmp_path):
    arguments = ["--smoke", "--repeat", "1", "--only", "W1", "--toolkits", HERE, "--plot", tmp_path]
    printed("-m", "tests.benchmarks", *arguments)
    assert {path.name for path in tmp_path.iterdir()} == {"README.md", "chart.svg", "results.json"}
    assert "| pullstream |" in (tmp_path / "README.md").read_text()
