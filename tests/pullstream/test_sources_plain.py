"""repeat, unfold, and how values are cut into batches at one time."""

import pytest

import pullstream as ps


def collatz(n):
    if n == 1:
        return None
    return n, n // 2 if n % 2 == 0 else 3 * n + 1


@pytest.mark.parametrize(
    ("source", "timed"),
    [
        (ps.once(7, time=str), [("7", 7)]),
        (ps.pipe(ps.integers(8, 4, time=lambda n: n // 10), ps.take(3)), [(0, 8), (1, 12), (1, 16)]),
        (ps.repeat(None, 3), [(0, None)] * 3),
        (ps.repeat(1, 0), []),
        (ps.pipe(ps.repeat(1), ps.take(9)), [(0, 1)] * 9),
        (ps.unfold(6, collatz), [(0, n) for n in (6, 3, 10, 5, 16, 8, 4, 2)]),
        (ps.unfold(0, lambda n: (n, n + 1) if n < 5 else None, time=lambda n: n // 2), [(n // 2, n) for n in range(5)]),
    ],
)
def test_values(source, timed, limit):
    pipeline = ps.pipe(source, ps.collect(timed=True))
    assert ps.run(pipeline, limit=limit) == ps.run(pipeline) == timed


@pytest.mark.parametrize("count", [2, 3, 9])
def test_a_collections_generator_is_closed(count):
    happened = []

    class Rows:
        def __iter__(self):
            happened.append("opened")
            try:
                yield from range(3)
            finally:
                happened.append("closed")

    def last(exc):
        happened.append("ended")

    ps.run(ps.pipe(ps.values(Rows()), ps.take(count), ps.on_end(last)), limit=1)
    assert happened == ["opened", "closed", "ended"]


def test_an_unread_iterator_is_closed(tmp_path):
    (tmp_path / "lines").write_text("a\nb\n")
    for count in range(4):
        file = (tmp_path / "lines").open()
        assert ps.run(ps.pipe(ps.values(file), ps.take(count), ps.reduce(lambda n, _: n + 1, 0))) == min(count, 2)
        assert file.closed
