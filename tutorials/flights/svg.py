"""Writing SVG and HTML by hand: an element is a string."""

from html import escape

from pullstream.trace.drawing.svg import element as written


def element(tag: str, *children: str, **attributes: object) -> str:
    """Write an element; ``class_`` becomes ``class``, ``text_anchor`` becomes ``text-anchor``.

    >>> element("rect", x=1.25, class_="day")
    '<rect x="1.2" class="day"/>'
    >>> element("title", text("Q & A"))
    '<title>Q &amp; A</title>'
    """
    return written(tag, children, **attributes)


def text(words: object) -> str:
    """Write plain text as the content of an element."""
    return escape(str(words), quote=False)


def label(words: object, x: float, y: float, **attributes: object) -> str:
    """Write a text element at a place."""
    return element("text", text(words), x=x, y=y, **attributes)
