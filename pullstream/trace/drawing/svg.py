"""A small SVG writer: elements with selectable text, in the colour of their surroundings."""

import re
from collections.abc import Iterable
from html import escape
from itertools import accumulate
from typing import Final
from unicodedata import east_asian_width

STYLE = """
svg:root{color:#1f2328;background:#fff}
@media (prefers-color-scheme:dark){svg:root{color:#e6edf3;background:#0d1117}}
text{font:13px/1 system-ui,sans-serif;fill:currentColor}
.name{font-weight:600}.small{font-size:11.5px}.mono{font-family:ui-monospace,monospace;font-size:12px}
.line{stroke:currentColor;fill:none}.faint{stroke-opacity:.35}.soft{opacity:.72}
.box{stroke:currentColor;fill:currentColor;fill-opacity:.06}
.frame{stroke:currentColor;stroke-opacity:.4;fill:currentColor;fill-opacity:.03}
.answer{stroke-dasharray:5 3}.head{fill:currentColor}
.front{fill:#2f81f7;fill-opacity:.18;stroke:#2f81f7}
.hold{fill:#d29922;fill-opacity:.22;stroke:#d29922}
.flight{fill:#3fb950;fill-opacity:.22;stroke:#3fb950}
.bad{stroke:#e5484d;fill:#e5484d}.bad.line{fill:none}text.bad{stroke:none;font-weight:600}
"""
"""The colours of a stand-alone drawing, light and dark; inside a page everything has the colour of the page's text.

Colour is never the only sign of a meaning: a chip also says it in words.
"""

_FORBIDDEN: Final = re.compile(r"[^\t\n\r -\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""The characters that a label may contain but a drawing cannot; they are written as escapes."""


def element(name: str, content: Iterable[str] | str = (), **attributes: object) -> str:
    """Return an element; `_` in the name of an attribute becomes a hyphen, and `class_` becomes `class`."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_number(value))}"' for key, value in attributes.items()
    )
    inside = content if isinstance(content, str) else "".join(content)
    return f"<{name}{written}>{inside}</{name}>" if inside else f"<{name}{written}/>"


def _number(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


def _written(words: str) -> str:
    return escape(_FORBIDDEN.sub(lambda found: repr(found[0])[1:-1], words), quote=False)


def text(x: float, y: float, words: str, class_: str = "", anchor: str = "start") -> str:
    """Return a line of text."""
    return element("text", _written(words), x=x, y=y, class_=class_, text_anchor=anchor)


def line(x1: float, y1: float, x2: float, y2: float, class_: str = "line") -> str:
    """Return a straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def arrow(x1: float, y: float, x2: float, class_: str = "") -> str:
    """Return a horizontal arrow."""
    back = 7 if x2 > x1 else -7
    head = f"M{x2:.0f} {y:.0f}l{-back} -4v8z"
    return line(x1, y, x2 - back / 2, y, f"line {class_}".strip()) + element(
        "path", d=head, class_=f"head {class_}".strip()
    )


def drawing(width: float, height: float, title: str, description: str, content: Iterable[str]) -> str:
    """Return a whole drawing; screen readers read `title` and `description`."""
    return element(
        "svg",
        [
            element("title", _written(title)),
            element("desc", _written(description)),
            element("style", STYLE.strip().replace("\n", "")),
            *content,
        ],
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=f"{width:.0f}",
        height=f"{height:.0f}",
        role="img",
        style="max-width:100%;height:auto",
    )


def letters(words: str) -> int:
    """Return the width of words in letters; wide ones, as in Chinese and Japanese, count twice."""
    return sum(1 + (east_asian_width(letter) in "WF") for letter in words)


def short(words: str, room: float, per_letter: float = 6.7) -> str:
    """Shorten words so that they fit.

    >>> short("revenue", 40), short("毎日の売上", 40)
    ('reve…', '毎日…')
    """
    most = max(3, int(room / per_letter))
    if letters(words) <= most:
        return words
    return words[: sum(width < most for width in accumulate(map(letters, words)))] + "…"


def short_name(name: str, room: float) -> str:
    """Shorten a name in front of a number that distinguishes it from others."""
    start, _, number = name.partition(" #")
    end = f" #{number}" if number else ""
    return short(start, room - 7.4 * len(end), 7.4) + end
