"""split and decode: text and bytes in pieces of any length give the same results as in one piece."""

from itertools import pairwise

import more_itertools
import pytest
import trio
from hypothesis import given, settings, strategies as st

import pullstream as ps
from tests.pullstream.common import script, through, until_failure
from tests.sampling import amount

limits = st.sampled_from([1, 2, 7, 4096])
text = st.text(alphabet="ab\r\n\x85\u2028", max_size=14)
cuts = st.lists(st.integers(0, 14), max_size=6).map(sorted)


def pieces(whole, at):
    """A text cut at some places; some pieces may be empty."""
    places = [0, *(min(place, len(whole)) for place in at), len(whole)]
    return [whole[begin:end] for begin, end in pairwise(places)]


def separated(whole, separator):
    """The result of str.split, without an empty part after the last separator."""
    parts = whole.split(separator)
    return parts if parts[-1] else parts[:-1]


@settings(deadline=None, max_examples=amount(40, 300))
@given(text, cuts, limits)
def test_lines_equal_splitlines(whole, at, limit):
    assert through(pieces(whole, at), ps.split(), limit=limit) == whole.splitlines()


@settings(deadline=None, max_examples=amount(40, 300))
@given(st.text(alphabet="ab;", max_size=14), st.sampled_from([";", "aa", "aab", "a;a"]), cuts, limits)
def test_pieces_are_split_at_separators(whole, separator, at, limit):
    assert through(pieces(whole, at), ps.split(separator), limit=limit) == separated(whole, separator)
    data, separator = whole.encode(), separator.encode()
    assert through(pieces(data, at), ps.split(separator), limit=limit) == separated(data, separator)


@settings(deadline=None, max_examples=amount(30, 300))
@given(st.binary(max_size=14), st.integers(1, 5), cuts, limits)
def test_blocks_are_chunks(whole, size, at, limit):
    expected = [bytes(block) for block in more_itertools.chunked(whole, size)]
    assert through(pieces(whole, at), ps.split(size=size), limit=limit) == expected


@settings(deadline=None, max_examples=amount(30, 300))
@given(
    st.text(alphabet="aé€ツ😀\ufeff", max_size=8),
    st.sampled_from(["utf-8", "utf-16", "utf-16-le", "utf-32", "utf-7", "shift_jis"]),
    cuts,
    limits,
)
def test_decoded_text_is_the_whole_text(whole, encoding, at, limit):
    data = whole.encode(encoding, "ignore")
    parts = through(pieces(data, at), ps.decode(encoding), limit=limit)
    assert "".join(parts) == data.decode(encoding)
    assert all(parts)


@pytest.mark.parametrize("module", [ps.split(), ps.split("\n"), ps.split(size=2)])
def test_a_piece_has_one_time(module):
    chunks = ps.values([(1, "a\nb"), (1, "c"), (2, "d"), (2, "\n")], time=lambda pair: pair[0])
    answers = ps.run(ps.pipe(chunks, ps.map(lambda pair: pair[1]), module, ps.collect(timed=True)))
    expected = {1: "a\nbc", 2: "d\n"}
    for time, whole in expected.items():
        assert [piece for at, piece in answers if at == time] == through([whole], module)
    assert [time for time, _ in answers] == sorted(time for time, _ in answers)


async def test_a_carriage_return_at_a_piece_s_end_delays_nothing(edge, autojump_clock):
    start = trio.current_time()
    async with edge(ps.pipe(script("a\r", 5.0, "\nb"), ps.split())) as reader:
        assert await reader.ask(9) == ps.Batch(0, ["a"])
        assert trio.current_time() == start
        assert await reader.ask(9) == ps.Batch(0, ["b"])


def test_a_failure_drops_a_partial_line(limit):
    broken = ps.pipe(script("a\nb", ValueError("above")), ps.split())
    assert until_failure(ValueError, broken, match="above", limit=limit)[0] == ["a"]


def test_a_piece_without_end_is_bounded(limit):
    too_long = ps.pipe(ps.values(["a\n", "bb", "bb"]), ps.split(capacity=3))
    assert until_failure(ValueError, too_long, match="capacity", limit=limit)[0] == ["a"]
    assert through(["bb", "b\n"], ps.split(capacity=3)) == ["bbb"]


def test_undecodable_bytes(limit):
    data = [b"ok", b"\xc3", b"\xff"]
    for chunks in data, [b"".join(data)], [b"o", b"k\xc3\xff"], [b"ok\xc3", b"\xff"]:
        texts, _ = until_failure(UnicodeDecodeError, ps.pipe(ps.values(chunks), ps.decode()), limit=limit)
        assert "".join(texts) == "ok"
    assert "".join(through(data, ps.decode(errors="replace"), limit=limit)) == b"".join(data).decode(errors="replace")
    # A character may be cut in two by the end.
    with pytest.raises(UnicodeDecodeError):
        through([b"a\xc3"], ps.decode())
    assert through([b"a\xc3"], ps.decode("utf-8", "ignore")) == ["a"]


def test_a_long_line_in_small_pieces_has_linear_cost():
    chunks = ["x" * 10] * 100_000
    for module in (ps.split(), ps.split("\n"), ps.split(size=10**6)):
        pipeline = ps.pipe(ps.values(chunks), module, ps.map(len), ps.collect())
        assert ps.run(pipeline) == [10**6]
