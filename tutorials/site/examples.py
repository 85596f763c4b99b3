"""The examples of docstrings, as code: Markdown would take each `>>>` for three quotations, and lose brackets of it."""

import importlib
import re
from importlib.util import find_spec
from typing import Any, Final

EXAMPLE: Final = re.compile(r"^( *)>>> .*(?:\n *\S.*)*", re.MULTILINE)
"""An example: from its first line to an empty one."""

# griffe is there where the site is built, and nowhere else.
Extension: Any = importlib.import_module("griffe").Extension if find_spec("griffe") else object


def fenced(docstring: str) -> str:
    """A docstring whose examples are blocks of code."""
    return EXAMPLE.sub(lambda found: f"{found[1]}```pycon\n{found[0]}\n{found[1]}```", docstring)


class Examples(Extension):
    """What mkdocstrings' reader of sources does with the docstring of each thing that it has read."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Fence the examples of a docstring."""
        if not obj.is_alias and obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)

    def on_package(self, *, pkg: Any, **_: Any) -> None:
        """The same for a package, which is no member of anything."""
        self.on_object(obj=pkg)
