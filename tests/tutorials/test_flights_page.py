"""The page: what it says of a year made by hand, and that it needs nothing but itself."""

import json
import re
from datetime import date, timedelta
from html.parser import HTMLParser

import pytest

from tutorials.flights import page, year
from tutorials.flights.scale import Axis

AIRLINES = {"AA": "American Airlines Inc.", "Z&": "Zig & <Zag>"}


def line(day, carrier, *, flights=10, cancelled=1, mean=4.0, severity=0.5):
    arrived = 0 if mean is None else flights - cancelled
    weather = {
        "severity": severity,
        "airport": "JFK",
        "hour": 17,
        "wind_mph": 20.0,
        "rain_in": 0.1,
        "visibility_mi": 8.0,
    }
    if severity is None:
        weather = dict.fromkeys(weather)
    return {
        "day": day.isoformat(),
        "carrier": carrier,
        "airline": AIRLINES[carrier],
        "flights": flights,
        "cancelled": cancelled,
        "arrived": arrived,
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


@pytest.mark.parametrize("days", [1, 2, 3, 10, 42, 43, 100, 365])
def test_any_number_of_days_makes_a_page(written, days):
    """Every day has its cell, every airline its row, whatever the number of days, and nothing leaves the picture."""
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
    """No address, no file of its own: what it shows is in it."""
    text = written(3).replace("http://www.w3.org/2000/svg", "")

    assert not re.search(r"https?:|//[a-z]|@import|url\(|<link|src=", text)


def test_a_day_s_tip_tells_what_its_files_say(written):
    """Delay, cancellations and weather of a day are in the title that the pointer shows."""
    titles = checked(written(2, day_1={"flights": 20, "cancelled": 5, "mean": 31.4, "severity": 3.0})).titles

    assert (
        "Wednesday, 2 January\nArrivals: 31 min late on average\n10 of 40 flights cancelled\n"
        "Worst hour, JFK at 17:00: wind 20 mph, rain 0.10 in, visibility 8 mi"
    ) in titles


def test_rough_days_are_marked(written):
    """A day of severity 2 or more carries a dot; the legend has one more."""
    found = checked(written(5, day_2={"severity": 2.0}, day_3={"severity": 1.9}))

    assert len(found.of_class("rough")) == 1 + 1


def test_missing_values_are_shown_as_missing(written):
    """A day on which nothing arrived, and whose weather nobody recorded, is neither on time nor calm."""
    found = checked(written(2, day_1={"cancelled": 10, "mean": None, "severity": None}))

    [told] = {title for title in found.titles if title.startswith("Wednesday, 2 January")}
    assert "none arrived" in told
    assert "Worst hour, not recorded" in told
    assert any("none" in attrs["class"].split() for attrs in found.of_class("cell"))


def test_names_are_escaped(written):
    """An airline's name is text, in the picture, in the table and in the page's data."""
    text = written(4)

    assert "<Zag>" not in text
    assert "Zig &amp; &lt;Zag&gt;" in text
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert data["airlines"]["Z&"]["name"] == "Zig & <Zag>"
    assert data["airlines"]["Z&"]["days"] == [[10, 1, 4.0]] * 4


def test_the_picture_is_described(written):
    """Figure, legend and airlines carry names for those who do not see them; the table says it in words."""
    found = checked(written(4))
    labels = [attrs["aria-label"] for attrs in found.of_class("pick")]

    assert "American Airlines Inc.: 4 min late on average, 4 of 40 flights cancelled" in labels
    assert ("table", {}) in found.seen
    assert any(attrs.get("role") == "img" and attrs.get("aria-label") for tag, attrs in found.seen if tag == "svg")


def test_means_weigh_flights_not_days():
    """Together, groups have the mean of their flights that arrived; groups without any do not count."""
    groups = [year.Group(10, 0, 10, 30.0), year.Group(30, 0, 30, 10.0), year.Group(5, 5, 0, None)]

    assert year.together(groups) == year.Group(45, 5, 40, 15.0)
    assert year.together([]).mean is None


def test_the_axis_counts_days_then_weeks():
    """Up to six weeks a column is a day; then a week that begins on Sunday, also across the first days."""
    days = [date(2013, 1, 1) + timedelta(number) for number in range(365)]

    assert Axis.of(days[:42]).columns == 42
    whole = Axis.of(days)
    assert (whole.weekly, whole.columns) == (True, 53)
    assert [whole.column(day) for day in (date(2013, 1, 5), date(2013, 1, 6))] == [0, 1]


def test_a_link_in_the_place_of_the_page_s_part_is_not_written_to(written, tmp_path, tmp_path_factory):
    """Somebody may have put one there, where others may write to the folder."""
    thesis = tmp_path_factory.mktemp("elsewhere") / "thesis"
    thesis.write_text("years of work")
    (tmp_path / ".index.html.part").symlink_to(thesis)
    assert "<svg" in written(2)
    assert thesis.read_text() == "years of work"
    assert not (tmp_path / "index.html").is_symlink()


def test_days_of_an_earlier_run_are_told_of(tmp_path):
    """A year stays where it is when somebody looks at its first days again; what the page leaves out is said."""
    job = pytest.importorskip("tutorials.flights.job", reason="needs Spark's package")
    paths = [tmp_path / f"2013-01-{day:02}.jsonl" for day in range(1, 11)]
    for path in paths[:5]:
        path.touch()
    (tmp_path / "index.html").touch()
    assert job.earlier(tmp_path, paths[:5]) == ""
    for path in paths:
        path.touch()
    told = job.earlier(tmp_path, paths[:5])
    assert "has 5 days of an earlier run, too (2013-01-06 to 2013-01-10), which are not on the page" in told
    assert "has a day of an earlier run, too (2013-01-10)" in job.earlier(tmp_path, paths[:9])
