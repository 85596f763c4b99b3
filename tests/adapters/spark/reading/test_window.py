"""The window of jobs, without Spark: the partitions of a job, and the number of jobs ahead."""

import threading

import pytest

from adapters.spark.reading.partitions import LITTLE, PREDICTIVE, SHORT, Spans, SpansAhead, ample

GB = 1 << 30


@pytest.mark.parametrize(("memory", "width", "so"), [(2 * GB, 2, False), (4 * GB, 2, True), (4 * GB, 8, False)])
def test_the_first_job_runs_alone_only_if_large_partitions_do_not_fit(memory, width, so):
    """While it arrives, a partition of 300 MB needs nearly all of 2 GB."""
    assert ample(memory, width) is so


@pytest.mark.parametrize(("largest", "ahead"), [(10, 10), (40, 2), (100, 1), (1000, 1)])
def test_only_jobs_that_fit_run_ahead(largest, ahead):
    spans = Spans(100, 100)
    spans.took(range(1), 1.0, largest)
    assert max(number for number in range(1, 11) if spans.fits(number - 1)) == ahead


def test_the_first_job_runs_alone_until_its_size_is_known():
    spans = Spans(100, 100, alone=True)
    assert [spans.fits(ahead) for ahead in (0, 1, 2)] == [True, False, False]
    spans.took(range(1), 1.0, 0)
    assert [spans.fits(ahead) for ahead in (0, 1, 2)] == [True, True, True]


@pytest.mark.parametrize(
    ("results", "spans"),
    [
        # Four times as many each time if they are small and short, at most sixteen.
        ([(0.0, 1)] * 3, [1, 4, 16, 16]),
        # If a size is known, as many as fit: growing step by step would take several more job starts.
        ([(0.0, PREDICTIVE)], [1, 16]),
        ([(0.0, LITTLE // 5)], [1, 5]),
        ([(0.0, LITTLE)], [1, 1]),
        # Fewer when partitions become larger, but at least one.
        ([(0.0, PREDICTIVE), (0.0, 3 * LITTLE)], [1, 16, 5]),
        ([(0.0, 20 * LITTLE)], [1, 1]),
        # For long jobs the start does not matter, and the consumer gets each result as soon as possible.
        ([(SHORT, 1)], [1, 1]),
    ],
)
def test_the_last_results_limit_the_partitions_of_a_job(results, spans):
    ahead = Spans(1000, 10 * LITTLE)
    found = []
    for seconds, size in results:
        found.append(ahead.following())
        ahead.took(found[-1], seconds, size)
    assert [len(span) for span in [*found, ahead.following()]] == spans


@pytest.mark.parametrize("alone", [True, False])
def test_everything_arrives_once_in_order(alone):
    window = SpansAhead(list, Spans(50, 1000, alone=alone), 4, len)
    taken = []
    while (part := window.take()) is not None:
        taken += part
    assert taken == list(range(50))
    window.close()


def test_results_are_taken_in_the_order_of_their_partitions():
    second = threading.Event()

    def read(span):
        # A result's size is asked for in the step in which it is kept.
        assert span.start or second.wait(10)
        return span.start

    window = SpansAhead(read, Spans(4, 1000, grows=False), 2, lambda start: second.set() or 1 if start else 1)
    assert [window.take() for _ in range(4)] == [0, 1, 2, 3]
    window.close()


def test_no_second_job_starts_while_the_first_runs_alone():
    """While the first job runs; afterwards there is one job per thread."""
    others, over = threading.Event(), []

    def read(span):
        if span.start:
            others.set()
            return bool(over)
        assert not others.wait(0.1)
        over.append(True)
        return True

    window = SpansAhead(read, Spans(4, 1000, alone=True), 4, lambda _: 1)
    while (after := window.take()) is not None:
        assert after
    window.close()
    assert others.is_set()


def test_a_failure_is_raised_in_its_place():
    def read(span):
        if span.start == 2:
            raise ValueError("broken")
        return span.start

    window = SpansAhead(read, Spans(50, 1000, grows=False), 1, lambda _: 1)
    assert [window.take(), window.take()] == [0, 1]
    with pytest.raises(ValueError, match="broken"):
        window.take()
    window.close()


def test_closing_waits_for_running_jobs_and_starts_none():
    go, begun, ended = threading.Event(), [], []

    def read(span):
        begun.append(span.start)
        assert not span.start or go.wait(10)
        ended.append(span.start)

    window = SpansAhead(read, Spans(50, 1000, grows=False), 2, lambda _: 1)
    window.take()
    threading.Timer(0.1, go.set).start()
    window.close()
    assert sorted(begun) == sorted(ended) == [0, 1, 2]
