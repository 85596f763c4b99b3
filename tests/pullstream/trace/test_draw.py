"""The picture of a pipeline: what stands in it, and that to look at a pipeline is not to use it."""

from xml.etree import ElementTree as ET

import pytest

import pullstream as ps
from pullstream.trace import planned
from pullstream.trace.drawing.graph import layout_of

ROUND = ps.loop(ps.map(lambda n: ps.Again(n - 1) if n > 3 else n))


def lines(blueprint):
    return [line.strip() for line in ps.draw(blueprint).mermaid.splitlines()[1:]]


def test_stages_that_run_as_one_are_one_box():
    """What fuses is seen; what does not stands alone."""
    drawn = lines(ps.pipe(ps.values([1]), ps.map(str), ps.filter(bool), ps.prefetch(2), ps.map(len), ps.collect()))

    assert drawn[:5] == ['m0["values"]', 'm1["map -> filter"]', 'm2["prefetch"]', 'm3["map"]', 'm4["collect"]']


def test_a_loop_leads_back_and_tells_what_becomes_of_times():
    """In and out of rounds, and the next one; the edge that closes it is dotted."""
    drawn = ps.draw(ps.pipe(ps.values([5]), ROUND, ps.delay(2), ps.collect())).mermaid

    for words in ("into loop", "out of loop", "next round", "later by 2", "-.->"):
        assert words in drawn


def test_streams_inside_a_module_are_told():
    """Those that are made while it runs; those that are there from the start are boxes."""
    per_key = ps.group_by(str, ps.pipe(ps.scan(max), ps.map(str)))
    drawn = ps.draw(ps.pipe(ps.merge(ps.values([1]), ps.count()), per_key, ps.tee(ps.first(), ps.drain())))

    assert "group_by<br>each: scan -> map" in drawn.mermaid
    for name in ("values", "count", "merge", "first", "drain"):
        assert f'["{name}"]' in drawn.mermaid
    assert "each: " not in drawn.mermaid.replace("each: scan", "")


def test_a_sink_for_what_is_refused_is_a_box_and_no_stream_inside():
    """It is there from the start, once, and not for each value."""
    refusing = ps.map(int, on_error=ps.first())
    late = ps.stamp(len, lateness=1, late=ps.last())
    drawn = ps.draw(ps.pipe(ps.values(["1"]), refusing, ps.map(str), late, ps.drain())).mermaid

    assert "each: " not in drawn
    assert '["first"]' in drawn
    assert '["last"]' in drawn


@pytest.mark.parametrize(
    "part",
    [ps.values([1]), ps.map(str), ps.pipe(ps.map(str), ps.prefetch(1)), ps.collect(), ps.pipe(ps.map(str), ps.first())],
)
def test_a_part_of_a_pipeline_is_drawn(part):
    """A source without what is below it, and others without what is above."""
    drawn = ps.draw(part)

    assert ('["upstream"]' in drawn.mermaid) == (part.kind != "source")
    assert ET.fromstring(drawn.svg).tag.endswith("svg")


def once():
    handle = ps.pushable(2)
    return ps.pipe(handle, ps.collect()), handle


async def test_what_belongs_to_one_run_is_left_to_it():
    """An iterator, a handle, both ends of a pair: drawn twice, and run after that."""
    numbers = ps.pipe(ps.values(iter([1, 2])), ps.collect())
    pushed, handle = once()
    source, sink = ps.pair()
    written, read = ps.pipe(ps.values("ab"), sink), ps.pipe(source, ps.collect())
    switched = ps.pipe(ps.values([1]), ps.abortable(), ps.pausable(), ps.collect())
    limited = ps.pipe(ps.values([1]), ps.in_flight(ps.map(str), ps.Quota(2)), ps.collect())

    for blueprint in (numbers, pushed, written, read, switched, limited) * 2:
        assert ps.draw(blueprint).svg

    async with numbers.open() as running:
        assert await running.result() == [1, 2]
    async with pushed.open() as running:
        await handle.push("a")
        handle.end()
        assert await running.result() == ["a"]
    async with written.open(), read.open() as running:
        assert await running.result() == ["a", "b"]
    async with switched.open() as running:
        assert await running.result() == [1]
    async with limited.open() as running:
        assert await running.result() == ["1"]


def test_nothing_is_called():
    """Not the user's functions, and not those of a source of his own."""
    called = []

    @ps.source
    async def mine(ctx):
        called.append("source")
        yield 1

    ps.draw(
        ps.pipe(
            mine(),
            ps.map(called.append),
            ps.infinite(lambda: called.append("f")).named("x") and ps.tap(called.append),
            ps.drain(called.append),
        )
    )
    assert called == []


def test_a_notebook_shows_the_picture():
    """Of a pipeline, and of what `draw` gives; text, where there are no pictures."""
    pipeline = ps.pipe(ps.values([1]), ps.collect())
    bundle = pipeline._repr_mimebundle_()

    assert bundle == {"text/plain": repr(pipeline), "image/svg+xml": ps.draw(pipeline).svg}
    assert ps.draw(pipeline)._repr_mimebundle_()["image/svg+xml"] == bundle["image/svg+xml"]


def test_what_cannot_be_drawn_is_shown_as_text(monkeypatch):
    """To look at something raises nothing."""
    monkeypatch.setattr("pullstream.trace.draw", lambda _: 1 / 0)

    assert set(ps.values([1])._repr_mimebundle_()) == {"text/plain"}


def test_it_is_saved(tmp_path):
    """As the name says."""
    picture = ps.draw(ps.values([1]))

    assert picture.save(tmp_path / "a.svg").read_text() == picture.svg
    assert picture.save(tmp_path / "a.mmd").read_text() == str(picture) == picture.mermaid


@pytest.mark.parametrize("name", ["p.png", "p.pdf", "p.html", "p"])
def test_a_picture_of_another_kind_is_refused(name, tmp_path):
    """Text in a file that is called a picture is found out when somebody opens it."""
    with pytest.raises(ps.CompositionError, match=rf"test_draw.py:\d+ got '.*{name}'.* \.svg, or as Mermaid, \.mmd"):
        ps.draw(ps.values([1])).save(tmp_path / name)

    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("given", "advice"), [([1], r"values\(\.\.\.\) makes a source of it"), (ps.map, r"a module is called, map\(\)")]
)
def test_what_is_no_module_is_not_drawn(given, advice):
    """The hint is the one that `pipe` gives."""
    with pytest.raises(ps.CompositionError, match=rf"draw\(\) at .*test_draw.py:\d+ .* is not a module; {advice}"):
        ps.draw(given)


def test_a_source_stands_right_above_what_asks_it():
    """Not at the top, from where its line would cross what stands between."""
    long = ps.pipe(ps.count(), ps.prefetch(1), ps.prefetch(1))
    layout = layout_of(planned(ps.pipe(ps.merge(ps.values([1]), long), ps.collect())).header)
    rows = sorted({y for _, y in layout.boxes.values()})

    assert [rows.index(layout.boxes[node][1]) for node in range(6)] == [2, 0, 1, 2, 3, 4]
