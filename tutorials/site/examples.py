"""Examples of docstrings as code blocks: Markdown would read each `>>>` as three nested quotations."""

import importlib
import re
from importlib.util import find_spec
from typing import Any, Final

EXAMPLE: Final = re.compile(r"^( *)>>> .*(?:\n *\S.*)*", re.MULTILINE)
"""An example: its first line and all lines up to an empty one."""

# griffe is installed only where the site is built.
Extension: Any = importlib.import_module("griffe").Extension if find_spec("griffe") else object


def fenced(docstring: str) -> str:
    """Put the examples of a docstring into code blocks."""
    return EXAMPLE.sub(lambda found: f"{found[1]}```pycon\n{found[0]}\n{found[1]}```", docstring)


class Examples(Extension):
    """An extension of griffe, which reads the sources for mkdocstrings: fences the examples in every docstring."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Fence the examples of a docstring."""
        if not obj.is_alias and obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)

    def on_package(self, *, pkg: Any, **_: Any) -> None:
        """Fence the examples of a package, which `on_object` does not receive."""
        self.on_object(obj=pkg)
