"""Sources that end only for now: the next run with the journal continues as if it had never stopped."""

import pytest

import pullstream as ps
from pullstream.authoring import Outside
from pullstream.errors import JournalError
from pullstream.timely import Tracker


def numbers(first, end, *, for_now, waits=False):
    """A source of numbers, each at its own time; every run has some more."""

    @ps.source
    class Numbers(ps.authoring.Kernel, Outside):
        def __init__(self):
            self.next = first

        def identity(self):
            return None

        def for_now(self):
            return for_now

        async def produce(self, limit):
            self.location.advance(self.next)
            if waits and self.next > first:
                await self.location.until_fulfilled(self.next - 1)
            if self.next == end:
                return ps.DONE
            self.next += 1
            return ps.Batch(self.next - 1, [self.next - 1])

    return Numbers()


@pytest.mark.parametrize(
    ("for_now", "later"), [(True, [0, 1, 3, 6, 10]), (False, [0, 1, 3])], ids=["for now", "for good"]
)
def test_only_sources_that_end_for_now_continue_later(for_now, later, path):
    def run(first, end):
        summed = ps.pipe(numbers(first, end, for_now=for_now), ps.scan(lambda a, b: a + b, 0))
        return ps.run(ps.pipe(summed, ps.collect()), journal=ps.Journal(path, version="1"))

    assert [run(0, 3), run(3, 5), run(5, 5)] == [[0, 1, 3], later, later]


@pytest.mark.parametrize("sink", [ps.first(), ps.pipe(ps.take(1), ps.reduce(max, 0))])
def test_a_sink_that_has_enough_ends_for_good(sink, path):
    def run(first, end):
        journal = ps.Journal(path, version="1")
        return ps.run(ps.pipe(numbers(first, end, for_now=True), ps.tee(sink, ps.collect())), journal=journal)

    assert [run(0, 3), run(3, 5), run(5, 5)] == [(0, list(range(end))) for end in (3, 5, 5)]


def test_live_values_continue_after_the_stored_ones(path):
    """Later stored values arrived live, so they do not keep the journal from recording."""

    def run(first, now, end):
        caught_up = ps.catch_up(numbers(first, now, for_now=True), numbers(now, end, for_now=False, waits=True))
        summed = ps.pipe(caught_up, ps.scan(lambda a, b: a + b, 0), ps.collect())
        return ps.run(summed, journal=ps.Journal(path, version="1"))

    assert run(0, 3, 6) == [0, 1, 3, 6, 10, 15]
    assert run(3, 7, 9) == [0, 1, 3, 6, 10, 15, 21, 28, 36]


@pytest.mark.parametrize("for_now", [True, False])
def test_no_time_is_recorded_that_a_source_may_extend(for_now, path):
    """A later run would drop its values; a source that waits for the record gets an error."""
    one, other = numbers(0, 1, for_now=True), numbers(0, 4, for_now=for_now, waits=True)
    with pytest.raises(JournalError, match=r"that 1 is complete at Numbers.*: Numbers.*, has ended, and a later"):
        ps.run(ps.pipe(ps.merge(one, other), ps.collect()), journal=path)


def test_later_times_of_ended_sources_are_computed_once(path, monkeypatch):
    """Not for each record: a run may have a large graph and many records."""
    trackers = []

    def counted(graph, **options):
        trackers.append(Tracker(graph, **options))
        return trackers[-1]

    monkeypatch.setattr("pullstream.journal.keeper.Tracker", counted)
    ended, other = numbers(50, 50, for_now=True), numbers(0, 20, for_now=False, waits=True)
    collected = ps.pipe(ps.merge(ended, other), ps.collect())
    assert ps.run(collected, journal=path) == list(range(20))
    assert len(trackers) == 1
