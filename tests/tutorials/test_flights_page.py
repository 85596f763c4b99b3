"""The page: its content for a made-up year, and its independence of other files."""

import json
import re
from datetime import date, timedelta
from xml.etree import ElementTree as ET

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
    """Write the files of some days, and the page about them; return the page's text."""

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


def elements(text):
    """The elements of a page; parsing checks that they nest properly."""
    text = re.sub(r"<!doctype html>|<script.*?</script>", "", text, flags=re.DOTALL)
    return [*ET.fromstring(re.sub(r"<(meta[^>]*)>", r"<\1/>", text)).iter()]


def of_class(name, found):
    return [each for each in found if name in each.get("class", "").split()]


def titles(found):
    return [each.text for each in found if each.tag.endswith("title")]


@pytest.mark.parametrize("days", [1, 2, 43, 365])
def test_a_page_for_any_number_of_days(written, days):
    found = elements(written(days))

    assert len([each for each in of_class("day", found) if each.get("tabindex")]) == days
    assert len(of_class("pick", found)) == len(AIRLINES)
    assert float(next(each for each in found if each.tag.endswith("svg")).get("viewBox").split()[2]) > 0
    for each in of_class("cell", found):
        assert 0 <= float(each.get("x")) <= 1200
        assert float(each.get("width")) > 0


def test_the_page_needs_no_network(written):
    text = written(3).replace("http://www.w3.org/2000/svg", "")

    assert not re.search(r"https?:|//[a-z]|@import|url\(|<link|src=", text)


def test_a_day_s_tip_has_its_files_data(written):
    found = elements(written(2, day_1={"flights": 20, "cancelled": 5, "mean": 31.4, "severity": 3.0}))

    assert (
        "Wednesday, 2 January\nArrivals: 31 min late on average\n10 of 40 flights cancelled\n"
        "Worst hour, JFK at 17:00: wind 20 mph, rain 0.10 in, visibility 8 mi"
    ) in titles(found)


def test_missing_values_are_shown_as_missing(written):
    found = elements(written(2, day_1={"cancelled": 10, "mean": None, "severity": None}))

    [tip] = {title for title in titles(found) if title.startswith("Wednesday, 2 January")}
    assert "none arrived" in tip
    assert "Worst hour, not recorded" in tip
    assert any("none" in each.get("class").split() for each in of_class("cell", found))


def test_names_are_escaped(written):
    text = written(4)

    assert "<Zag>" not in text
    assert "Zig &amp; &lt;Zag&gt;" in text
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert data["airlines"]["Z&"]["name"] == "Zig & <Zag>"
    assert data["airlines"]["Z&"]["days"] == [[10, 1, 4.0]] * 4


def test_a_link_in_place_of_the_partial_page_is_replaced(written, tmp_path, tmp_path_factory):
    """In a shared folder, another user may have planted the link."""
    thesis = tmp_path_factory.mktemp("elsewhere") / "thesis"
    thesis.write_text("years of work")
    (tmp_path / ".index.html.part").symlink_to(thesis)
    assert "<svg" in written(2)
    assert thesis.read_text() == "years of work"
    assert not (tmp_path / "index.html").is_symlink()
