"""Writing SVG by hand: an element is a string."""

from html import escape


def element(tag: str, *children: str, **attributes: object) -> str:
    """Write an element; ``class_`` becomes ``class``, ``text_anchor`` becomes ``text-anchor``, None is left out.

    >>> element("rect", x=1.25, class_="day", fill=None)
    '<rect x="1.2" class="day"/>'
    >>> element("title", text("Q & A"))
    '<title>Q &amp; A</title>'
    """
    given = "".join(
        f' {name.strip("_").replace("_", "-")}="{escape(_shown(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{given}>{''.join(children)}</{tag}>" if children else f"<{tag}{given}/>"


def text(words: object) -> str:
    """Write plain text as the content of an element."""
    return escape(str(words), quote=False)


def label(words: object, x: float, y: float, **attributes: object) -> str:
    """Write a text element at a place."""
    return element("text", text(words), x=x, y=y, **attributes)


def _shown(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)
