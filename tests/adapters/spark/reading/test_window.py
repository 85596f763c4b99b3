"""The window of jobs without Spark: which partitions a job reads, and how many jobs are ahead."""

import threading

import pytest

from adapters.spark.reading.window import LITTLE, PREDICTIVE, SHORT, Spans, Window, ample

GB = 1 << 30


@pytest.mark.parametrize(("memory", "width", "so"), [(2 * GB, 2, False), (4 * GB, 2, True), (4 * GB, 8, False)])
def test_the_first_need_not_be_alone_where_large_ones_fit_at_once(memory, width, so):
    """Of 2 GB a partition of 300 MB takes nearly all while it arrives."""
    assert ample(memory, width) is so


@pytest.mark.parametrize(("largest", "ahead"), [(10, 10), (40, 2), (100, 1), (1000, 1)])
def test_as_many_are_ahead_as_fit(largest, ahead):
    """By the largest that has come; one always may."""
    spans = Spans(100, 100)
    spans.took(range(1), 1.0, largest)
    assert max(number for number in range(1, 11) if spans.fits(number - 1)) == ahead


def test_the_first_is_alone_until_it_is_known_what_it_brings():
    """Two of a size that nobody knows may be too much together."""
    spans = Spans(100, 100, alone=True)
    assert [spans.fits(ahead) for ahead in (0, 1, 2)] == [True, False, False]
    spans.took(range(1), 1.0, 0)
    assert [spans.fits(ahead) for ahead in (0, 1, 2)] == [True, True, True]


def test_small_and_short_ones_are_read_together():
    """Four times as many each time, where they bring next to nothing, and sixteen at most."""
    spans = Spans(1000, 10 * LITTLE)
    sizes = []
    for _ in range(4):
        span = spans.following()
        sizes.append(len(span))
        spans.took(span, 0.0, 1)
    assert sizes == [1, 4, 16, 16]


@pytest.mark.parametrize(("size", "next_"), [(PREDICTIVE, 16), (LITTLE // 5, 5), (LITTLE, 1)])
def test_as_many_are_read_together_as_fit_where_one_says_how_large_they_are(size, next_):
    """The start of a job each, four times, would be more than what they bring."""
    spans = Spans(1000, 10 * LITTLE)
    spans.took(spans.following(), 0.0, size)
    assert len(spans.following()) == next_


def test_fewer_are_read_together_when_they_become_larger():
    """By what the last ones have brought."""
    spans = Spans(1000, 10 * LITTLE)
    spans.took(range(16), 0.0, 3 * LITTLE)
    assert len(spans.following()) == 16 // 3


def test_one_alone_is_read_though_it_does_not_fit():
    """Nothing smaller can be read."""
    spans = Spans(10, 10 * LITTLE)
    spans.took(spans.following(), 0.0, 2 * LITTLE)
    assert len(spans.following()) == 1


def test_long_ones_are_not_read_together():
    """Their starts do not count, and who waits has each of them as soon as may be."""
    spans = Spans(10, 10 * LITTLE)
    spans.took(spans.following(), SHORT, 1)
    assert len(spans.following()) == 1


@pytest.mark.parametrize("alone", [True, False])
def test_everything_comes_once_in_order(alone):
    """Whatever the threads do."""
    window = Window(list, Spans(50, 1000, alone=alone), 4, len)
    taken = []
    while (part := window.take()) is not None:
        taken += part
    assert taken == list(range(50))
    window.close()


def test_no_second_one_is_begun_beside_the_first():
    """As long as it goes on; afterwards they are as many as there are threads."""
    others, over = threading.Event(), []

    def read(span):
        if span.start:
            others.set()
            return bool(over)
        assert not others.wait(0.1)
        over.append(True)
        return True

    window = Window(read, Spans(4, 1000, alone=True), 4, lambda _: 1)
    while (after := window.take()) is not None:
        assert after
    window.close()
    assert others.is_set()


def test_a_failure_is_raised_where_it_is_taken():
    """After what came before it; and nothing more is begun."""

    def read(span):
        if span.start == 2:
            raise ValueError("broken")
        return span.start

    window = Window(read, Spans(50, 1000, grows=False), 1, lambda _: 1)
    assert [window.take(), window.take()] == [0, 1]
    with pytest.raises(ValueError, match="broken"):
        window.take()
    window.close()
