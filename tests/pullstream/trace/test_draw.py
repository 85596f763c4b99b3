"""The picture of a pipeline: what it shows, and that drawing a pipeline does not run it."""

import re
from itertools import combinations
from xml.etree import ElementTree as ET

import pytest

import pullstream as ps
from pullstream import trace
from pullstream.trace import planned
from pullstream.trace.drawing.edge import draw_messages
from pullstream.trace.drawing.layout import BOX, GAP, HEIGHT, layout_of
from pullstream.trace.drawing.messages import Message

ROUND = ps.loop(ps.map(lambda n: ps.Again(n - 1) if n > 3 else n))


def lines(blueprint):
    return [line.strip() for line in trace.draw(blueprint).mermaid.splitlines()[1:]]


def test_fused_stages_are_one_box():
    drawn = lines(ps.pipe(ps.values([1]), ps.map(str), ps.filter(bool), ps.prefetch(2), ps.map(len), ps.collect()))

    assert drawn[:5] == ['m0["values"]', 'm1["map -> filter"]', 'm2["prefetch"]', 'm3["map"]', 'm4["collect"]']


def test_a_loop_is_drawn_with_its_changes_of_times():
    drawn = trace.draw(ps.pipe(ps.values([5]), ROUND, ps.delay(2), ps.collect())).mermaid

    for words in ("into loop", "out of loop", "next round", "later by 2", "-.->"):
        assert words in drawn


def test_inner_streams_are_drawn():
    per_key = ps.group_by(str, ps.pipe(ps.scan(max), ps.map(str)))
    drawn = trace.draw(ps.pipe(ps.merge(ps.values([1]), ps.integers()), per_key, ps.tee(ps.first(), ps.drain())))

    for name in ("values", "integers", "merge", "first", "drain", "group_by", "scan -> map"):
        assert f'["{name}"]' in drawn.mermaid
    assert drawn.mermaid.count("subgraph") == drawn.svg.count("opened by") == 1
    assert lines(ps.group_by(str, ps.scan(max))) == [
        'm0["upstream"]',
        'm1["group_by"]',
        'subgraph f0["opened by group_by"]',
        'm2["scan"]',
        "end",
        "m1 -.- f0",
        "m0 --> m1",
    ]


def test_nested_loops_are_nested_frames():
    drawn = lines(ps.pipe(ps.values([5]), ps.loop(ROUND).named("again"), ps.collect()))

    outer = drawn.index('subgraph f0["again, in rounds"]')
    assert drawn[outer + 1] == 'm1["again ingress<br>times: into loop"]'
    first, last = drawn.index('subgraph f1["loop, in inner rounds"]'), drawn.index("end")
    for name in ("loop ingress", "map", "loop feedback"):
        assert any(f'["{name}' in line for line in drawn[first:last])
    assert drawn[last + 1] == "end"
    assert drawn[0] == 'm0["values"]'
    assert drawn[1] == 'm10["collect"]'


COUNT = ps.Fold(int, lambda total, _: total + 1)


@pytest.mark.parametrize(
    ("module", "becomes", "carries"),
    [
        (ps.stamp(len), "times: of its own", "stamp's times"),
        (ps.stamp(len, lateness=2, late="drop"), "times: of its own", "stamp's times"),
        (ps.stamp(len, nest=True), "times: nested", "stamp's times, nested"),
        (ps.stamp_epochs(2), "times: of its own", "stamp_epochs' times"),
        (ps.stamp_epochs(seconds=1), "times: of its own", "stamp_epochs' times"),
        (ps.stamp_epochs(key=len, nest=True).named("runs"), "times: nested", "runs' times, nested"),
        (ps.map_time(lambda time: time // 24).named('the "day"'), "times: converted", "the #quot;day#quot;'s times"),
        (ps.tumbling(4, COUNT), "times: later", ""),
        (ps.sliding(4, 2, COUNT), "times: later", ""),
        (ps.sessions(4, COUNT), "times: later by 4", ""),
        (ps.delay(2), "times: later by 2", ""),
        (ps.map(str), "", ""),
        (ps.reduce_by_time(COUNT), "", ""),
    ],
)
def test_edges_are_labelled_where_new_times_begin(module, becomes, carries):
    """Whose times they are, downstream of the module that assigns them; of old times, only how they change."""
    drawn = trace.draw(ps.pipe(ps.values(["a"]), module, ps.prefetch(1), ps.collect()))

    boxes, edges = (drawn.mermaid.split("m0 --> m1")[part] for part in (0, 1))
    assert boxes.partition("m1[")[2].partition("]")[0].partition("<br>")[2].removesuffix('"') == becomes
    assert edges.split("\n")[1:] == [f'    m1 -->|"{carries}"| m2' if carries else "    m1 --> m2", "    m2 --> m3"]
    assert drawn.svg.count("' times") + drawn.svg.count("'s times") == (2 if carries else 0), (
        "it is drawn, and described"
    )


def test_labels_of_edges_have_room():
    looped = ps.loop(ps.pipe(ps.map_time(lambda time: time), ps.map(str)))
    several = ps.merge(ps.pipe(ps.values("ab"), ps.stamp(len)), ps.pipe(ps.integers(), ps.prefetch(1)))
    pipeline = ps.pipe(several, ps.prefetch(1), looped, ps.stamp(len).named("long " * 9), ps.collect())
    header = planned(pipeline).header
    layout, svg = layout_of(header), ET.fromstring(trace.draw(pipeline).svg)

    labels = [each for each in svg.iterfind(".//{*}text") if each.text.endswith(("' times", "'s times"))]
    assert len(labels) == sum("begins" in module for module in header["modules"]) == 3
    for each in labels:
        x, y, wide = float(each.get("x")), float(each.get("y")), len(each.text) * 6.4
        assert wide <= BOX + GAP
        for left, middle in layout.boxes.values():
            assert abs(left - x) >= (BOX + wide) / 2 or not middle - HEIGHT / 2 - 3 < y < middle + HEIGHT / 2 + 11
        for path in svg.iterfind(".//{*}path"):
            assert not crosses(path.get("d"), x, y)


def crosses(path, x, y):
    """Whether a straight vertical line crosses the text at a place."""
    straight = re.findall(r"M(\d+) (\d+)V(\d+)", path)
    return any(int(at) == round(x) and int(top) < y and int(end) > y - 10 for at, top, end in straight)


def inside(frame, x, y, wide, high):
    across = frame.left <= x - wide / 2 and x + wide / 2 <= frame.left + frame.width
    return across and frame.top <= y - high / 2 and y + high / 2 <= frame.top + frame.height


@pytest.mark.parametrize(
    "pipeline",
    [
        ps.pipe(ps.values([1]), ps.loop(ps.group_by(str, ps.pipe(ps.scan(max), ps.prefetch(1)))), ps.collect()),
        ps.pipe(ps.merge(ps.values([1]), ps.integers()), ps.loop(ps.pipe(ROUND, ROUND)), ps.tee(ps.first(), ps.last())),
        ps.pipe(ps.merge(ps.pipe(ps.values([1]), ROUND), ps.integers()), ps.group_by(str, ROUND), ps.drain()),
    ],
)
def test_boxes_are_in_their_own_frames_only(pipeline):
    header = planned(pipeline).header
    layout = layout_of(header)

    assert len(layout.frames) == len(header["frames"]) > 0
    for number, (frame, about) in enumerate(zip(layout.frames, header["frames"], strict=True)):
        mine = {*about["modules"]}
        for inner in header["frames"][number + 1 :]:
            around = inner["within"]
            while around is not None and around != number:
                around = header["frames"][around]["within"]
            mine |= {*inner["modules"]} if around == number else set()
        for node, (x, y) in layout.boxes.items():
            assert inside(frame, x, y, BOX, HEIGHT) == (node in mine)
            apart = [frame.left - x - BOX / 2, x - BOX / 2 - frame.left - frame.width]
            apart += [frame.top - y - HEIGHT / 2, y - HEIGHT / 2 - frame.top - frame.height]
            assert node in mine or max(apart) > 0
        assert 0 <= frame.left < frame.left + frame.width <= layout.width
        assert 0 <= frame.top < frame.top + frame.height <= layout.height
    for (x1, y1), (x2, y2) in combinations(layout.boxes.values(), 2):
        assert abs(x1 - x2) >= BOX or abs(y1 - y2) >= HEIGHT


def test_a_source_is_in_its_frame_whatever_its_name():
    @ps.source
    async def upstream(ctx):
        yield 1

    drawn = ['m0["retry"]', 'subgraph f0["opened by retry"]', 'm1["upstream"]', "end", "m0 -.- f0"]
    assert lines(ps.retry(upstream())) == drawn


def test_a_side_sink_is_a_box_and_not_an_inner_stream():
    refusing = ps.map(int, on_error=ps.first())
    late = ps.stamp(len, lateness=1, late=ps.last())
    drawn = trace.draw(ps.pipe(ps.values(["1"]), refusing, ps.map(str), late, ps.drain())).mermaid

    assert "opened by" not in drawn
    assert '["first"]' in drawn
    assert '["last"]' in drawn


@pytest.mark.parametrize(
    "part",
    [ps.values([1]), ps.map(str), ps.pipe(ps.map(str), ps.prefetch(1)), ps.collect(), ps.pipe(ps.map(str), ps.first())],
)
def test_a_part_of_a_pipeline_is_drawn(part):
    drawn = trace.draw(part)

    assert ('["upstream"]' in drawn.mermaid) == (part.kind != "source")
    assert ET.fromstring(drawn.svg).tag.endswith("svg")


async def test_single_use_modules_are_not_used_up():
    numbers = ps.pipe(ps.values(iter([1, 2])), ps.collect())
    handle = ps.pushable(2)
    pushed = ps.pipe(handle, ps.collect())
    source, sink = ps.duplex.pair()
    written, read = ps.pipe(ps.values("ab"), sink), ps.pipe(source, ps.collect())
    switched = ps.pipe(ps.values([1]), ps.abortable(), ps.pausable(), ps.collect())
    limited = ps.pipe(ps.values([1]), ps.in_flight(ps.map(str), ps.types.Quota(2)), ps.collect())

    for blueprint in (numbers, pushed, written, read, switched, limited) * 2:
        assert trace.draw(blueprint).svg

    assert [await ps.arun(each) for each in (numbers, switched, limited)] == [[1, 2], [1], ["1"]]
    async with pushed.open() as running:
        await handle.push("a")
        handle.end()
        assert await running.result() == ["a"]
    async with written.open(), read.open() as running:
        assert await running.result() == ["a", "b"]


def test_nothing_is_called():
    called = []

    @ps.source
    async def mine(ctx):
        called.append("source")
        yield 1

    trace.draw(ps.pipe(mine(), ps.map(called.append), ps.tap(called.append), ps.drain(called.append)))
    trace.draw(ps.unfold(0, lambda n: (called.append("f"), n)))
    assert called == []


def test_a_notebook_shows_the_picture():
    pipeline = ps.pipe(ps.values([1]), ps.collect())
    bundle = pipeline._repr_mimebundle_()

    assert bundle == {"text/plain": repr(pipeline), "image/svg+xml": trace.draw(pipeline).svg}
    assert trace.draw(pipeline)._repr_mimebundle_()["image/svg+xml"] == bundle["image/svg+xml"]


def test_it_is_saved(tmp_path):
    picture = trace.draw(ps.values([1]))

    assert picture.save(tmp_path / "a.svg").read_text() == picture.svg
    assert picture.save(tmp_path / "a.mmd").read_text() == str(picture) == picture.mermaid


@pytest.mark.parametrize("name", ["p.png", "p.pdf", "p.html", "p"])
def test_unknown_picture_formats_are_refused(name, tmp_path):
    with pytest.raises(ps.CompositionError, match=rf"test_draw.py:\d+ got '.*{name}'.* \.svg, for SVG, or in \.mmd"):
        trace.draw(ps.values([1])).save(tmp_path / name)

    assert not list(tmp_path.iterdir())


def test_text_and_lifelines_stay_apart():
    """All text ends in the drawing, and a lifeline leaves a gap for text on it: of messages, notes and broken rules."""

    def messages(long):
        for number, answer in enumerate((False, True) * 2):
            sides = (number // 2, number // 2 + 1)
            yield Message(*(sides[::-1] if answer else sides), f"Ans1=value({'x' * long})", answer)
        yield from (Message(life, life, "2024-02-29T12:30:00 acknowledged", answer=False) for life in range(3))
        yield Message(0, 1, "abort2", answer=False, offence=f"R6: it has {'many ' * long}upstreams")

    for long in (1, 8, 20, 60):
        svg = ET.fromstring(draw_messages(list(messages(long)), ["collect", "map", "values"], "Long text"))
        lives = [
            re.findall(r"(\d+) (\d+)V(\d+)", each.get("d")) for each in svg.iterfind(".//{*}path[@class='line faint']")
        ]
        assert len(lives) == 3
        for each in list(svg.iterfind(".//{*}text"))[6:]:
            wide = len(each.text) * (7.2 if "mono" in each.get("class") else 6)
            begin = float(each.get("x")) - wide * {"start": 0, "middle": 0.5, "end": 1}[each.get("text-anchor")]
            y = float(each.get("y"))
            assert 0 < begin < begin + wide < 360
            for x, top, bottom in (map(int, piece) for life in lives for piece in life):
                assert not (begin < x < begin + wide and top < y + 3 and bottom > y - 11), each.text


def test_control_characters_are_written_as_escapes(tmp_path):
    """In values and in labels: a drawing with one is not well-formed, and a lone surrogate cannot be written."""

    class Odd:
        def __repr__(self):
            return "odd\x1b\n\x00\ud800"

    path = tmp_path / "run.ndjson"
    label = "odd\x1b\x00\ufffe or\xa0café\U0001f375"
    pipeline = ps.pipe(ps.values([Odd()]), ps.map(id).named(label), ps.drain())
    ps.run(pipeline, limit=1, trace=path)
    edge = trace.draw_edge(trace.Trace.read(path), label)

    assert r"AnsT1=value(odd\x1b\n\x00\ud800)" in [each.text for each in ET.fromstring(edge).iterfind(".//{*}text")]
    for svg in (trace.draw(pipeline).svg, edge):
        assert "odd\\x1b\\x00\\ufffe or\xa0café\U0001f375" in "".join(ET.fromstring(svg).itertext())
    assert "odd\\ud800" in trace.draw(ps.map(id).named("odd\ud800")).svg
