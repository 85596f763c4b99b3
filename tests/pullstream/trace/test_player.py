"""The player, in a real browser: steps, keys, filter, links, violations, sizes, light and dark, and how quick it is."""

import io
import random
import re
import zlib
from base64 import b64decode

import pytest

import pullstream as ps
from pullstream import checker
from pullstream.__main__ import main
from pullstream.trace import Trace, page_of
from tests.programs import wait

from .browser import CHROMIUM, Browser, Page
from .programs import PIPELINES, broken, days, failing, rounds, too_late, traced

DAYS = traced(days(), limit=1)

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here: apt-get install chromium")
pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture
def show(browser, tmp_path):
    """Opens the page of a trace; at the end, checks that it made no requests and no complaints."""
    pages = []

    def show(text, link="", *, about=None, **options):
        file = tmp_path / "page.html"
        file.write_text(page_of(Trace.of(text.splitlines()), "a run", **about or {}), encoding="utf-8")
        page = Page(browser, f"{file.as_uri()}{link}", **options)
        pages.append(page)
        return page

    yield show
    browser.drain(0.02)
    for page in pages:
        assert page.complaints == []
        assert page.requests == []
        page.close()


def step(page):
    return page.run("page.step")


@needs_browser
def test_every_key_does_its_job(show):
    page = show(DAYS)
    total = page.run("page.trace.total")
    completions = page.run("page.trace.completions")
    assert step(page) == 1
    assert completions

    page.press("ArrowRight")
    page.press("ArrowRight")
    page.press("ArrowLeft")
    assert step(page) == 2
    for completion in completions:
        page.press("ArrowRight", shift=True)
        assert step(page) == completion
        assert "complete" in page.run("document.querySelector('#now').textContent")
    page.press("ArrowLeft", shift=True)
    assert step(page) == completions[-2]
    page.press("End")
    assert step(page) == total
    page.press("ArrowRight")
    assert step(page) == total
    page.press("Home")
    page.press(" ")
    assert page.run("document.querySelector('#play').textContent") == "pause"
    page.press(" ")
    assert page.run("document.querySelector('#play').textContent") == "play"


@needs_browser
def test_a_link_leads_to_its_step(show):
    page = show(DAYS, "#step=57")
    assert step(page) == 57
    assert page.run("document.querySelector('[aria-current]').cells[0].textContent") == "57"
    page.run("location.hash = '#step=12'")
    wait(lambda: step(page) != 12)
    page.press("ArrowRight")
    wait(lambda: page.run("location.hash") != "#step=13")


@needs_browser
def test_the_panes_show_the_state_at_a_step(show):
    """The edge diagram ends with the message of the step, and the graph shows the state that Python computes."""
    from pullstream.trace.drawing.graph import state_at

    page, trace = show(DAYS), Trace.of(DAYS.splitlines())
    for number in range(1, len(trace.events) + 1, 7):
        page.run(f"page.go({number})")
        state = state_at(trace, number)
        shown = page.run("Object.fromEntries(page.trace.at(page.step).frontiers)")
        assert shown == {str(place): times for place, times in state.frontiers.items()}
        stamps = page.run("[...page.trace.at(page.step).stamps].map(([place, times]) => [place, [...times]])")
        there = {place: dict(times) for place, times in stamps if times}
        assert there == {place: dict(found) for place, found in state.stamps.items() if found}
        event = trace.events[number - 1]
        if event[2] in {"ask", "value", "done"}:
            last = page.run("[...document.querySelectorAll('#edges [data-event]')].at(-1).dataset.event")
            assert int(last) == number


@needs_browser
def test_a_filter_selects_events_and_keys_step_through(show):
    page = show(DAYS)
    page.press("/")
    for letter in "per_time 2024-02-21":
        page.press(letter)
    found = page.run("page.matching")
    words = [page.run(f"page.trace.describe({number - 1})") for number in found]
    assert found
    assert all("per_time" in word and "2024-02-21" in word for word in words)
    page.press("Escape")
    page.run("page.go(1)")
    for number in [n for n in found if n > 1]:
        page.press("ArrowRight")
        assert step(page) == number
    page.run("page.filter('r12')")
    kinds = set(page.run("page.matching.map((n) => page.trace.events[n - 1][2])"))
    assert kinds == {"value", "frontiers", "completed"}
    page.run("page.filter('nothing of this kind')")
    assert page.run("document.querySelector('#found').textContent").startswith("0 events, of ")


@needs_browser
def test_the_next_violation_is_shown(show):
    page = show(broken())
    page.press("v")
    assert "R2 broken by TooMany" in page.run("document.querySelector('#now').textContent")
    page.run("document.querySelector('#now .rule').focus()")
    text = page.run("document.querySelector('#rule').textContent")
    assert text == f"R2: {checker.RULES['R2']}"
    page.run("document.activeElement.blur()")
    assert page.run("document.querySelector('#rule').hidden")


SEEN = "(id) => !document.querySelector(id).closest('[hidden]') && document.querySelector(id).textContent"


@needs_browser
@pytest.mark.parametrize(
    ("trace", "what", "width"),
    [
        (broken, "R2 broken by TooMany", 1280),
        (too_late, "R12 broken by back: answered at 0, but may not: it holds", 360),
    ],
)
def test_a_page_opens_where_a_rule_is_broken(show, trace, what, width):
    page = show(trace(), width=width, height=800)
    (fault,) = page.run("page.trace.violations")
    assert step(page) == fault > 1
    assert what in page.run(f"({SEEN})('#now')")
    assert "..." not in page.run(f"({SEEN})('#now')")
    rule, _ = what.split(maxsplit=1)
    assert page.run(f"({SEEN})('#told')") == f"{rule}: {checker.RULES[rule]}"
    assert page.run("document.querySelectorAll('#edges g.bad').length") == 1
    assert page.run("document.documentElement.scrollWidth") <= width
    page.run("document.querySelector('#begin').click()")
    assert step(page) == 1
    page.run("document.querySelector('#there').click()")
    assert step(page) == fault


@needs_browser
def test_a_page_opens_at_the_step_it_is_given(show):
    about = {"told": "values: as the task says\nit gave\n[1]", "step": 20}
    page = show(DAYS, about=about)
    assert step(page) == 20
    assert page.run(f"({SEEN})('#told')") == about["told"]
    assert page.run("document.querySelector('#told').getBoundingClientRect().height") > 50
    page.press("Home")
    page.press("v")
    assert step(page) == 20
    assert step(show(DAYS, "#step=7", about=about)) == 7


@needs_browser
def test_a_time_is_explained(show):
    page = show(DAYS)
    held = "page.trace.events.findIndex((_, i) => page.trace.describe(i).includes('per_time holds 2024-02-21'))"
    page.run(f"page.go({held} + 1)")
    page.press("e")
    text = page.run("document.querySelector('#explanation').textContent")
    assert "at collect out: times from 2024-02-21 may still come, because" in text
    assert "per_time holds 2024-02-21" in text
    page.run("document.querySelector('[data-module=\"0\"]').dispatchEvent(new MouseEvent('click'))")
    assert "at values out" in page.run("document.querySelector('#explanation').textContent")
    page.press("e")
    assert page.run("document.querySelector('#explanation').hidden")


@needs_browser
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_it_is_legible_in_every_size(show, width, dark):
    page = show(traced(rounds(), limit=1), "#step=44", width=width, height=800, dark=dark)
    assert page.run("document.documentElement.scrollWidth") <= width
    ends = page.run("[...document.querySelectorAll('button, input')].map((b) => b.getBoundingClientRect().right)")
    assert max(ends) <= width
    colours = page.run("(({color, backgroundColor}) => [color, backgroundColor])(getComputedStyle(document.body))")
    ink, paper = (sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in colours)
    assert abs(ink - paper) > 500
    assert (ink > paper) == dark
    smallest = "Math.min(...[...document.querySelectorAll('#graph text')].map((t) => t.getBoundingClientRect().height))"
    assert page.run(smallest) >= 11
    assert len(page.picture()) > 10_000


@needs_browser
def test_the_verdict_says_how_a_run_has_failed(show):
    page = show(traced(failing()))
    told = page.run("document.querySelector('#verdict').textContent")
    assert told == "the model allows this run; it has ended: ZeroDivisionError"


@needs_browser
def test_a_large_graph_shows_the_module_of_the_event(show):
    """The names in it are shortened by their width, and keep their numbers."""
    chain = [each for _ in range(40) for each in (ps.skip(0), ps.scan(max))]
    page = show(traced(ps.pipe(ps.values("ab"), *chain, ps.collect()), limit=1))
    shown = """(number) => {
        page.go(number);
        const [box, pane] = [`[data-module="${page.trace.about(page.trace.events[number - 1])}"]`, "#graph"]
            .map((one) => document.querySelector(one).getBoundingClientRect());
        return box.top >= pane.top && box.bottom <= pane.bottom;
    }"""
    asks = page.run("page.trace.events.filter((event) => event[2] == 'ask').map((event) => event[0])")
    assert all(page.run(f"({shown})({number})") for number in asks[:80:13])
    assert page.run("[short('revenue', 40, 6.7), short('毎日の売上', 40, 6.7)]") == ["reve…", "毎日…"]
    assert page.run("shortName('a_long_name_of_a_module #12', 90)") == "a_long… #12"


@needs_browser
def test_pages_are_accessible(show):
    page = show(DAYS, "#step=30")
    assert page.run("document.querySelectorAll('svg > title').length") == 2
    assert "per_time: " in page.run("document.querySelector('#graph desc').textContent")
    assert page.run("document.querySelector('#events caption').textContent")
    rows = page.run("[...document.querySelectorAll('#events th')].map((th) => th.scope)")
    assert rows == ["col", "col", "col"]
    names = "(b) => b.ariaLabel || b.textContent.trim() || b.labels[0]?.textContent"
    assert all(page.run(f"[...document.querySelectorAll('button, input')].map({names})"))


def long(events):
    """The trace of a run with about `events` events."""
    numbers = random.Random(1)
    file = io.StringIO()
    values = [numbers.randrange(10**6) for _ in range(events // 7 + 100)]
    times = iter(sorted(numbers.randrange(events // 400) for _ in values))
    pipeline = ps.pipe(ps.values(values, time=lambda _: next(times)), ps.take(len(values)), ps.drain())
    ps.run(pipeline, limit=1, trace=file)
    return file.getvalue()


def test_a_page_is_small_and_complete():
    page = page_of(Trace.of(long(10_000).splitlines()))
    assert set(re.findall(r"https?://[^\"'\s<]+", page)) == {"http://www.w3.org/2000/svg"}
    assert "default-src 'none'" in page
    assert "unsafe-inline" not in page
    assert len(page.encode()) < 2**18
    data = re.search(r'id="trace">([^<]+)<', page)[1]
    assert len(zlib.decompress(b64decode(data))) > 2**18


def test_names_are_escaped_in_a_page():
    text = traced(ps.pipe(ps.values(["</script><b>"]), ps.collect()))
    page = page_of(Trace.of(text.splitlines()), "<script>&")
    assert "<b>" not in page
    assert "<title>&lt;script&gt;&amp;</title>" in page


@pytest.mark.parametrize("make", PIPELINES)
def test_the_command_makes_a_page(make, tmp_path, capsys):
    path = tmp_path / "run.ndjson"
    path.write_text(traced(make()), encoding="utf-8")
    assert main(["view", str(path)]) == 0
    assert capsys.readouterr().out.startswith(f"{tmp_path / 'run.html'}\nallowed by the model: ")
    assert main(["view", str(path), "-o", str(tmp_path / "other.html")]) == 0
    assert (tmp_path / "other.html").read_text() == (tmp_path / "run.html").read_text()


def test_a_time_that_is_the_name_of_a_file(tmp_path):
    """A name of bytes that are not UTF-8 has halves of surrogate pairs."""
    path = tmp_path / "run.ndjson"
    assert ps.run(ps.pipe(ps.values(["a"], time=lambda _: "\udcff"), ps.collect()), trace=path) == ["a"]
    assert main(["view", str(path)]) == 0
    assert r"'\udcff'" in str(Trace.read(path).events)


def test_the_command_says_what_is_wrong(tmp_path, capsys):
    assert main(["view", str(tmp_path / "none.ndjson")]) == 2
    (tmp_path / "odd.ndjson").write_text("odd")
    assert main(["view", str(tmp_path / "odd.ndjson")]) == 2
    assert "this is not a trace: " in capsys.readouterr().err
    (tmp_path / "run.html").write_text(DAYS)
    assert main(["view", str(tmp_path / "run.html")]) == 2
    assert "would overwrite the trace" in capsys.readouterr().err
    (tmp_path / "link.html").symlink_to("run.html")
    assert main(["view", str(tmp_path / "run.html"), "-o", str(tmp_path / "link.html")]) == 2
    assert (tmp_path / "run.html").read_text().startswith('{"trace":1')
    (tmp_path / "odd.ndjson").write_text((tmp_path / "run.html").read_text().replace('"steps":', '"stops":'))
    assert main(["view", str(tmp_path / "odd.ndjson")]) == 2
    assert re.search(r"view: the trace \S+odd.ndjson is damaged: KeyError: 'steps'\.", capsys.readouterr().err)
    lines = DAYS.splitlines()
    stamps = next(n for n, line in enumerate(lines) if '"stamps"' in line)
    (tmp_path / "broken.ndjson").write_text("\n".join(lines[:stamps] + lines[stamps + 1 :]))
    assert main(["view", str(tmp_path / "broken.ndjson")]) == 1
    assert (tmp_path / "broken.html").exists()
    assert "refused by the model: event " in capsys.readouterr().out
