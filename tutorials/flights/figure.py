"""The picture of the year: one axis of days with delays, cancellations, weather and every airline."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from math import ceil

from tutorials.flights.scale import BOUNDS, LEFT, WIDTH, Axis, colour_class
from tutorials.flights.svg import element, label, text
from tutorials.flights.year import Airline, Day, Group, Year, together

WEEKDAYS = ("Sunday", "", "Tuesday", "", "Thursday", "", "Saturday")
BAR_HEIGHT = 64
ROW = 22
ROUGH = 2.0
"""The severity from which a day's weather is marked in the calendar: about one day in ten."""


def figure(year: Year) -> str:
    """Draw everything, from top to bottom."""
    axis = Axis.of([day.date for day in year.days])
    parts: list[str] = []
    top = 34.0
    for draw in (_months, _calendar, _cancellations, _weather, _airlines):
        part, top = draw(year, axis, top)
        parts.append(part)
    return element(
        "svg",
        element("title", text("Arrival delays, cancellations, weather and airlines, day by day"), id="figure-title"),
        *parts,
        viewBox=f"0 0 {WIDTH} {ceil(top)}",
        role="group",
        aria_labelledby="figure-title",
        xmlns="http://www.w3.org/2000/svg",
    )


def minutes(mean: float | None) -> str:
    """Describe a mean delay.

    >>> minutes(12.34), minutes(-3.0), minutes(0.2), minutes(None)
    ('12 min late', '3 min early', 'on time', 'none arrived')
    """
    if mean is None:
        return "none arrived"
    if abs(mean) < 0.5:
        return "on time"
    return f"{abs(mean):.0f} min {'late' if mean > 0 else 'early'}"


def described(day: Day) -> str:
    """Describe a day, one fact per line."""
    weather = "not recorded" if day.weather is None else str(day.weather)
    return (
        f"{day.date:%A}, {day.date.day} {day.date:%B}\nArrivals: {minutes(day.total.mean)} on average\n"
        f"{_cancelled(day.total)}\nWorst hour, {weather}"
    )


def _cancelled(group: Group) -> str:
    return f"{group.cancelled:,} of {group.flights:,} flights cancelled"


def _months(year: Year, axis: Axis, top: float) -> tuple[str, float]:
    labels: list[str] = []
    for day in (day.date for day in year.days):
        first = day == year.days[0].date
        if axis.weekly and (day.day == 1 or first):
            labels.append(label(f"{day:%b}", axis.slot(day)[0], top - 12, class_="month"))
        elif not axis.weekly:
            words = f"{day.day} {day:%b}" if first or day.day == 1 else str(day.day)
            labels.append(label(words, axis.x(day) + axis.cell / 2, top - 12, class_="month", text_anchor="middle"))
    return element("g", *labels), top


def _calendar(year: Year, axis: Axis, top: float) -> tuple[str, float]:
    """Draw a cell per day: down the week and along the year, or in one row if there are few days."""
    side = axis.height + axis.pitch - axis.cell
    rows = 7 if axis.weekly else 1
    parts = _heading("Arrival delay", "mean of each day", top + (10 if axis.weekly else side / 2 - 3))
    if axis.weekly:
        for row, name in enumerate(WEEKDAYS):
            parts.append(label(name, LEFT - 10, top + row * side + side * 0.72, class_="tick", text_anchor="end"))
    for number, day in enumerate(year.days):
        row = day.date.isoweekday() % 7 if axis.weekly else 0
        parts.append(_day_cell(day, number, axis, top + row * side))
    if axis.weekly:
        parts += [_month_line(day.date, axis, top) for day in year.days[1:] if day.date.day == 1]
    return element("g", *parts), top + rows * side + 26


def _day_cell(day: Day, number: int, axis: Axis, y: float) -> str:
    x, width, height = axis.x(day.date), axis.cell, axis.height
    rough = day.weather is not None and day.weather.severity >= ROUGH
    middle, roomy = (x + width / 2, y + height / 2), height >= 34
    dot = (x + width - 7, y + 7) if roomy else middle
    marks = [element("circle", cx=dot[0], cy=dot[1], r=min(height * 0.16, 3.2), class_="rough")] if rough else []
    if roomy and day.total.mean is not None:
        mean = signed(day.total.mean)
        marks.append(label(mean, middle[0], middle[1] + 5, class_="inside", text_anchor="middle"))
    cell = element("rect", x=x, y=y, width=width, height=height, rx=2.5, class_=f"cell {colour_class(day.total.mean)}")
    return element(
        "g",
        element("title", text(described(day))),
        cell,
        *marks,
        class_="day",
        data_day=number,
        tabindex=_focus(number),
    )


def _focus(number: int) -> int:
    # One stop for the Tab key; from there the arrow keys walk through the days.
    return 0 if number == 0 else -1


def _month_line(first: date, axis: Axis, top: float) -> str:
    x, row, side = axis.x(first) - 1, first.isoweekday() % 7, axis.height + axis.pitch - axis.cell
    y, step = top + row * side - 1, f"h{axis.pitch:.1f}" if row else ""
    path = f"M{x:.1f} {top + 7 * side - 1:.1f} V{y:.1f} {step} V{top - 1:.1f}"
    return element("path", d=path, class_="month-line")


def _cancellations(year: Year, axis: Axis, top: float) -> tuple[str, float]:
    def share(day: Day) -> float:
        return 100 * day.total.cancelled_share

    return _bars("Cancelled", "share of flights", year, axis, top, share, "cancelled", "%")


def _weather(year: Year, axis: Axis, top: float) -> tuple[str, float]:
    def severity(day: Day) -> float:
        return 0.0 if day.weather is None else day.weather.severity

    return _bars("Weather", "worst hour, severity", year, axis, top, severity, "weather", "")


def _bars(  # noqa: PLR0917 - both callers read well
    title: str,
    subtitle: str,
    year: Year,
    axis: Axis,
    top: float,
    value: Callable[[Day], float],
    kind: str,
    unit: str,
) -> tuple[str, float]:
    """Draw a bar per day, on a common base line."""
    highest = max(1.0, *(value(day) for day in year.days))
    step = next(step for step in (0.5, 1, 2, 5, 10, 20, 50, 100) if highest / step <= 3)
    ceiling = step * ceil(highest / step)
    base = top + BAR_HEIGHT
    parts = _heading(title, subtitle, top + 10)
    for count in range(1, int(ceiling / step) + 1):
        y = base - BAR_HEIGHT * count * step / ceiling
        parts.append(element("line", x1=LEFT, x2=axis.end - 2, y1=y, y2=y, class_="grid"))
        parts.append(label(f"{count * step:g}{unit}", axis.end + 4, y + 4, class_="tick"))
    for number, day in enumerate(year.days):
        x, width = axis.slot(day.date)
        height = BAR_HEIGHT * value(day) / ceiling
        parts.append(
            element(
                "g",
                element("title", text(described(day))),
                # The whole column reacts to the pointer, not only the bar.
                element("rect", x=x, y=top, width=width + 0.5, height=BAR_HEIGHT, class_="reach"),
                element("rect", x=x, y=base - height, width=width, height=height, class_=f"bar {kind}"),
                class_="day",
                data_day=number,
            )
        )
    parts.append(element("line", x1=LEFT, x2=axis.end - 2, y1=base, y2=base, class_="base"))
    return element("g", *parts, class_=f"bars {kind}", data_ceiling=f"{ceiling:g}"), base + 26


def _airlines(year: Year, axis: Axis, top: float) -> tuple[str, float]:
    """Draw a strip per airline, the most punctual first, with its numbers at the right."""
    head = top + 10
    unit = "week" if axis.weekly else "day"
    parts = _heading("Airlines", f"mean of each {unit}, most punctual first; choose one to see its days above", head)
    right = max(axis.end, LEFT + 60)
    columns = ((56.0, "mean"), (106.0, "p90"), (166.0, "cancelled"))
    parts += [label(words, right + x, head + 16, class_="tick", text_anchor="end") for x, words in columns]
    top += 42
    for row, airline in enumerate(year.airlines):
        y = top + row * ROW
        numbers = (signed(airline.total.mean), signed(airline.mean_p90), f"{airline.total.cancelled_share:.1%}")
        cells = [
            element("rect", x=0, y=y - 2, width=WIDTH, height=ROW, rx=3, class_="reach"),
            label(_short(airline.name), LEFT - 10, y + 13, class_="airline", text_anchor="end"),
            *_strip(year, airline, axis, y),
            *(
                label(number, right + x, y + 13, class_="number", text_anchor="end")
                for number, (x, _) in zip(numbers, columns, strict=True)
            ),
        ]
        spoken = f"{airline.name}: {minutes(airline.total.mean)} on average, {_cancelled(airline.total)}"
        parts.append(
            element(
                "g",
                *cells,
                class_="pick",
                data_carrier=airline.carrier,
                tabindex=0,
                role="button",
                aria_pressed="false",
                aria_label=spoken,
            )
        )
    return element("g", *parts), top + len(year.airlines) * ROW + 6


def _strip(year: Year, airline: Airline, axis: Axis, y: float) -> Iterator[str]:
    columns: dict[int, list[Day]] = defaultdict(list)
    for day in year.days:
        columns[axis.column(day.date)].append(day)
    for column, days in columns.items():
        own = together(day.airlines[airline.carrier] for day in days if airline.carrier in day.airlines)
        if own.flights:
            yield element(
                "g",
                element(
                    "title", text(f"{airline.name}, {_span(days)}\n{minutes(own.mean)} on average\n{_cancelled(own)}")
                ),
                element(
                    "rect",
                    x=LEFT + column * axis.pitch,
                    y=y,
                    width=axis.cell,
                    height=ROW - 4,
                    rx=2,
                    class_=f"cell {colour_class(own.mean)}",
                ),
            )


def legend() -> str:
    """Draw the colours and their meanings."""
    side = 30
    parts = [label("early", 0, 12, class_="tick")]
    parts += [
        element("rect", x=38 + number * side, y=2, width=side, height=12, class_=f"cell d{number}")
        for number in range(len(BOUNDS) + 1)
    ]
    parts += [
        label(bound, 38 + number * side, 28, class_="tick", text_anchor="middle")
        for number, bound in enumerate(BOUNDS, 1)
    ]
    end = 38 + (len(BOUNDS) + 1) * side
    parts.append(label("late (minutes)", end + 8, 12, class_="tick"))
    parts.append(element("circle", cx=end + 122, cy=8, r=3.0, class_="rough"))
    parts.append(label("rough weather", end + 132, 12, class_="tick"))
    return element(
        "svg",
        *parts,
        viewBox=f"0 0 {end + 222} 32",
        width=end + 222,
        class_="legend",
        role="img",
        aria_label="Colours from blue, early, to red, an hour late; a dot marks rough weather",
    )


def _heading(title: str, subtitle: str, y: float) -> list[str]:
    return [label(title, 0, y, class_="heading"), label(subtitle, 0, y + 16, class_="tick")]


def _short(name: str) -> str:
    for end in (" Inc.", " Co.", " Corporation", " Airlines", " Air Lines", " Airways"):
        name = name.removesuffix(end)
    return name


def signed(number: float | None) -> str:
    """Write whole minutes with their sign.

    >>> signed(12.3), signed(-4.6), signed(-0.2), signed(None)
    ('+12', '−5', '0', '–')
    """
    if number is None:
        return "–"
    return f"{round(number):+d}".replace("-", "−") if round(number) else "0"


def _span(days: Iterable[Day]) -> str:
    every = [day.date for day in days]
    ends = [f"{end.day} {end:%B}" for end in dict.fromkeys((every[0], every[-1]))]
    return " to ".join(ends)
