"""A checkout: the folders timely and adapters stand beside this one, and its files of their names lead to them.

What is installed has these folders themselves in place of those files, and takes no name but `pullstream`.
"""

from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[1]


def beside(name: str) -> None:
    """Refuse to go on with another package of that name than the one beside this."""
    spec = find_spec(name)
    found = None if spec is None else spec.origin
    if found is None or not Path(found).is_relative_to(ROOT / name):
        raise ImportError(
            f"`import {name}` finds {found or 'nothing'}, and not {ROOT / name}, which pullstream needs in a checkout: "
            f"rename that file or folder, or install pullstream, which then takes no name but its own",
            name=name,
        )
