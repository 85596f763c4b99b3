"""How many rows `columns.filter` asks for."""

import pytest

import pullstream as ps
from pullstream.authoring import PassOn
from tests.adapters.columns.kit import columns, in_arrow, pa, pl
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

    @ps.sink
    async def few(upstream, ctx):
        while (answer := await upstream.ask(100)) is not ps.DONE:
            got.append(len(answer.values))

    above = ps.transformer(Sizes)(asked)
    ps.run(
        ps.pipe(
            in_arrow(batch, form="tuples"), above, columns.filter((pl.col("n") < most) | (pl.col("n") == 59_999)), few()
        ),
        check=True,
    )

    assert sum(asked) == 60_000
    assert len(asked) < 300
    assert sum(got) == found
    assert max(got) <= 100


@pytest.mark.parametrize("times", [[0] * 3000, [place // 7 for place in range(3000)]])
def test_all_rows_before_a_failure_are_delivered(times):
    batch = pa.record_batch({"n": [str(place) if place != 2500 else "many" for place in range(3000)]})
    got = []

    @ps.sink
    async def few(upstream, ctx):
        while (answer := await upstream.ask(2)) is not ps.DONE:
            got.extend(answer.values)

    with pytest.raises(columns.ColumnError, match=r"for row 2501, \('many',\)"):
        ps.run(
            ps.pipe(in_arrow(batch, form="tuples", times=times), columns.filter(pl.col("n").cast(pl.Int64) > 9), few()),
            check=True,
        )

    assert got == [(str(place),) for place in range(10, 2500)]
