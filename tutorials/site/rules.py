"""The page of the rules, with the code that breaks them."""

import ast
import inspect
import re

from tutorials.rules import in_runs
from tutorials.rules.by_hand import ByHand
from tutorials.rules.cards import CARDS


def with_code(page: str) -> str:
    """Add the code that breaks each rule below its pictures."""

    def add(found: re.Match[str]) -> str:
        block = "\n".join(f"    {line}".rstrip() for line in f"```py\n{_breaking(found[1])}\n```".split("\n"))
        return f'{found[0]}\n??? note "What breaks {found[1]}"\n\n{block}\n'

    return re.sub(r"^## (R\d+)\n.*?^\| !.*?\n", add, page, flags=re.DOTALL | re.MULTILINE)


def _breaking(rule: str) -> str:
    card = CARDS[rule]
    if not isinstance(card.broken, ByHand):
        return _classes(card.broken.module)
    assert isinstance(card.kept, ByHand)
    # If both scenes have the same reader, the requests break the rule.
    same = card.kept.reader is card.broken.reader
    return inspect.getsource(card.broken.requests if same else card.broken.reader).strip()


def _classes(name: str) -> str:
    """Return the source of a module's class, and of its edge if it replaces that."""
    source = inspect.getsource(in_runs)
    lines = source.splitlines()
    found = [
        "\n".join(lines[min([node.lineno, *(one.lineno for one in node.decorator_list)]) - 1 : node.end_lineno])
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef) and node.name in {name, f"_{name}"}
    ]
    return "\n\n\n".join(found)
