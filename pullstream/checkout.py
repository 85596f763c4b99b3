"""Support for checkouts, in which timely and adapters are folders beside pullstream.

In a checkout, the files with these names in pullstream re-export the folders. An installed package contains the folders
themselves, and uses no top-level name except `pullstream`.
"""

from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[1]


def beside(name: str) -> None:
    """Raise ImportError if importing `name` would find a package other than the one beside pullstream."""
    spec = find_spec(name)
    found = None if spec is None else spec.origin
    if found is None or not Path(found).is_relative_to(ROOT / name):
        raise ImportError(
            f"`import {name}` finds {found or 'nothing'}, but in a checkout pullstream needs {ROOT / name}: rename "
            f"that file or folder, or install pullstream, which then takes no other top-level name",
            name=name,
        )
