"""The page: what it says of a year made by hand, and that it needs nothing but itself."""

import json
import re
from datetime import date, timedelta
from html.parser import HTMLParser

import pytest

from tutorials.flights import page

AIRLINES = {"AA": "American Airlines Inc.", "Z&": "Zig & <Zag>"}
WEATHER = {"severity": 0.5, "airport": "JFK", "hour": 17, "wind_mph": 20.0, "rain_in": 0.1, "visibility_mi": 8.0}


def line(day, carrier, *, flights=10, cancelled=1, mean=4.0, severity=0.5):
    weather = dict.fromkeys(WEATHER) if severity is None else WEATHER | {"severity": severity}
    return {
        "day": day.isoformat(),
        "carrier": carrier,
        "airline": AIRLINES[carrier],
        "flights": flights,
        "cancelled": cancelled,
        "arrived": 0 if mean is None else flights - cancelled,
        "mean_arr_delay": mean,
        "p90_arr_delay": mean,
        **{f"weather_{name}": value for name, value in weather.items()},
    }


@pytest.fixture
def written(tmp_path):
    """Write the files of some days, and the page about them; gives the page's text."""

    def write(days, **special):
        paths = []
        for number in range(days):
            day = date(2013, 1, 1) + timedelta(number)
            own = special.get(f"day_{number}", {})
            path = tmp_path / f"{day}.jsonl"
            path.write_text("".join(json.dumps(line(day, carrier, **own)) + "\n" for carrier in AIRLINES))
            paths.append(path)
        target = page.write(paths, tmp_path / "index.html")
        assert sorted(tmp_path.iterdir()) == sorted([*paths, target])
        return target.read_text(encoding="utf-8")

    return write


class Checked(HTMLParser):
    """Follows the elements: every one that is opened must be closed, in order."""

    VOID = frozenset({"meta"})

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.titles = [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "title":
            self.titles.append(data)

    def of_class(self, name):
        return [attrs for _, attrs in self.seen if name in attrs.get("class", "").split()]


def checked(text):
    parser = Checked()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    return parser


@pytest.mark.parametrize("days", [1, 2, 43, 365])
def test_any_number_of_days_makes_a_page(written, days):
    found = checked(written(days))

    cells = [attrs for attrs in found.of_class("day") if "tabindex" in attrs]
    assert len(cells) == days
    assert len(found.of_class("pick")) == len(AIRLINES)
    width = float(found.seen[[tag for tag, _ in found.seen].index("svg")][1]["viewbox"].split()[2])
    assert width > 0
    for attrs in found.of_class("cell"):
        assert 0 <= float(attrs["x"]) <= 1200
        assert float(attrs["width"]) > 0


def test_the_page_needs_no_network(written):
    text = written(3).replace("http://www.w3.org/2000/svg", "")

    assert not re.search(r"https?:|//[a-z]|@import|url\(|<link|src=", text)


def test_a_day_s_tip_tells_what_its_files_say(written):
    titles = checked(written(2, day_1={"flights": 20, "cancelled": 5, "mean": 31.4, "severity": 3.0})).titles

    assert (
        "Wednesday, 2 January\nArrivals: 31 min late on average\n10 of 40 flights cancelled\n"
        "Worst hour, JFK at 17:00: wind 20 mph, rain 0.10 in, visibility 8 mi"
    ) in titles


def test_missing_values_are_shown_as_missing(written):
    found = checked(written(2, day_1={"cancelled": 10, "mean": None, "severity": None}))

    [told] = {title for title in found.titles if title.startswith("Wednesday, 2 January")}
    assert "none arrived" in told
    assert "Worst hour, not recorded" in told
    assert any("none" in attrs["class"].split() for attrs in found.of_class("cell"))


def test_names_are_escaped(written):
    text = written(4)

    assert "<Zag>" not in text
    assert "Zig &amp; &lt;Zag&gt;" in text
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert data["airlines"]["Z&"]["name"] == "Zig & <Zag>"
    assert data["airlines"]["Z&"]["days"] == [[10, 1, 4.0]] * 4


def test_a_link_in_the_place_of_the_page_s_part_is_not_written_to(written, tmp_path, tmp_path_factory):
    """Somebody may have put one there, where others may write to the folder."""
    thesis = tmp_path_factory.mktemp("elsewhere") / "thesis"
    thesis.write_text("years of work")
    (tmp_path / ".index.html.part").symlink_to(thesis)
    assert "<svg" in written(2)
    assert thesis.read_text() == "years of work"
    assert not (tmp_path / "index.html").is_symlink()
