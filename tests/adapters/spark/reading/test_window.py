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
def test_as_many_jobs_are_ahead_as_fit(largest, ahead):
    """By the largest result so far; one job is always allowed."""
    spans = Spans(100, 100)
    spans.took(range(1), 1.0, largest)
    assert max(number for number in range(1, 11) if spans.fits(number - 1)) == ahead


def test_the_first_job_runs_alone_until_its_size_is_known():
    """Two results of unknown size may be too large together."""
    spans = Spans(100, 100, alone=True)
    assert [spans.fits(ahead) for ahead in (0, 1, 2)] == [True, False, False]
    spans.took(range(1), 1.0, 0)
    assert [spans.fits(ahead) for ahead in (0, 1, 2)] == [True, True, True]


def test_small_and_short_partitions_are_read_together():
    """Four times as many each time if they are almost empty, at most sixteen."""
    spans = Spans(1000, 10 * LITTLE)
    sizes = []
    for _ in range(4):
        span = spans.following()
        sizes.append(len(span))
        spans.took(span, 0.0, 1)
    assert sizes == [1, 4, 16, 16]


@pytest.mark.parametrize(("size", "next_"), [(PREDICTIVE, 16), (LITTLE // 5, 5), (LITTLE, 1)])
def test_as_many_are_read_together_as_fit_if_the_size_is_known(size, next_):
    """Growing step by step would cost several more job starts."""
    spans = Spans(1000, 10 * LITTLE)
    spans.took(spans.following(), 0.0, size)
    assert len(spans.following()) == next_


def test_fewer_are_read_together_when_they_become_larger():
    """According to the last results."""
    spans = Spans(1000, 10 * LITTLE)
    spans.took(range(16), 0.0, 3 * LITTLE)
    assert len(spans.following()) == 16 // 3


def test_a_single_partition_is_read_even_if_it_does_not_fit():
    """A partition is the smallest unit."""
    spans = Spans(10, 10 * LITTLE)
    spans.took(spans.following(), 0.0, 2 * LITTLE)
    assert len(spans.following()) == 1


def test_long_jobs_read_one_partition():
    """The cost of their starts does not matter, and the consumer gets each result as soon as possible."""
    spans = Spans(10, 10 * LITTLE)
    spans.took(spans.following(), SHORT, 1)
    assert len(spans.following()) == 1


@pytest.mark.parametrize("alone", [True, False])
def test_everything_arrives_once_in_order(alone):
    """Regardless of the order in which threads finish."""
    window = SpansAhead(list, Spans(50, 1000, alone=alone), 4, len)
    taken = []
    while (part := window.take()) is not None:
        taken += part
    assert taken == list(range(50))
    window.close()


def test_results_are_taken_in_the_order_of_their_partitions():
    """Also where a later one is there first."""
    second = threading.Event()

    def read(span):
        # A result's size is asked for in the step in which it is kept.
        assert span.start or second.wait(10)
        return span.start

    window = SpansAhead(read, Spans(4, 1000, grows=False), 2, lambda start: second.set() or 1 if start else 1)
    assert [window.take() for _ in range(4)] == [0, 1, 2, 3]
    window.close()


def test_no_second_job_starts_beside_a_first_that_runs_alone():
    """While it runs; afterwards there is one job per thread."""
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


def test_a_failure_is_raised_where_it_is_taken():
    """After earlier results; and no further job starts."""

    def read(span):
        if span.start == 2:
            raise ValueError("broken")
        return span.start

    window = SpansAhead(read, Spans(50, 1000, grows=False), 1, lambda _: 1)
    assert [window.take(), window.take()] == [0, 1]
    with pytest.raises(ValueError, match="broken"):
        window.take()
    window.close()
