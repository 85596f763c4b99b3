"""The number of rows that `columns.filter` asks for."""

import pytest

import pullstream as ps
from pullstream.authoring import PassOn
from tests.adapters.columns.kit import answers, columns, in_arrow, pa, pl
from tests.pullstream.counting import stop_clocks


class Sizes(PassOn):
    def __init__(self, noted):
        self.noted = noted

    def answer(self, batch):
        self.noted.append(len(batch.values))
        return batch


@pytest.mark.parametrize(("most", "found"), [(0, 1), (60_000, 60_000)])
def test_a_filter_asks_for_more_and_more_rows(most, found, monkeypatch):
    """Its demand does not depend on how many rows match; the consumer gets no more than it asks for."""
    stop_clocks(monkeypatch.setattr)
    batch = pa.record_batch({"n": range(60_000)})
    asked, got = [], []
    some = columns.filter((pl.col("n") < most) | (pl.col("n") == 59_999))

    ps.run(ps.pipe(in_arrow(batch), ps.transformer(Sizes)(asked), some, answers(got, 100)), check=True)

    assert sum(asked) == 60_000
    assert len(asked) < 300
    sizes = [len(answer.values) for answer in got]
    assert sum(sizes) == found
    assert max(sizes) <= 100


def is_above_nine(text):
    if text == "many":
        raise ValueError("no number")
    return int(text) > 9


@pytest.mark.parametrize(
    "above_nine",
    [pl.col("n").cast(pl.Int64) > 9, pl.col("n").map_elements(is_above_nine, return_dtype=pl.Boolean)],
    ids=["expression", "function"],
)
@pytest.mark.parametrize("times", [[0] * 3000, [place // 7 for place in range(3000)]], ids=["one time", "many"])
def test_all_rows_before_a_failure_are_delivered(times, above_nine):
    batch = pa.record_batch({"n": [str(place) if place != 2500 else "many" for place in range(3000)]})
    got = []
    table = in_arrow(batch, form="tuples", times=times)

    with pytest.raises(ValueError, match=r"for row 2501, \('many',\)"):
        ps.run(ps.pipe(table, columns.filter(above_nine), answers(got, 2)), check=True)

    assert [row for answer in got for row in answer.values] == [(str(place),) for place in range(10, 2500)]
