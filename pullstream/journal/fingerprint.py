"""What tells one pipeline from another: its modules, their names and what they were given, as shown."""

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, cast

from pullstream.blueprint import Blueprint, Module, OneShot, shown_callable

LONGEST: Final = 200
"""How many characters of an argument count."""

_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+")


def fingerprint(blueprint: Blueprint, prefix: str = "") -> list[tuple[str, str]]:
    """Every module of a pipeline, also of those inside others: where it is, and what it looks like.

    >>> import pullstream as ps
    >>> for line in fingerprint(ps.pipe(ps.values("ab"), ps.map(str), ps.tee(ps.collect(), ps.tally()))):
    ...     print(*line)
    1 values('ab')
    2 map(str)
    3 tee(..., ...)
    3.1.1 collect()
    3.2.1 tally()
    """
    lines: list[tuple[str, str]] = []
    for number, module in enumerate(blueprint.modules, 1):
        place = f"{prefix}{number}"
        inside: list[Blueprint] = []
        lines.append((place, _module(module, inside)))
        for count, inner in enumerate(inside, 1):
            lines += fingerprint(inner, f"{place}.{count}.")
    return lines


def difference(before: Sequence[tuple[str, str]], now: Sequence[tuple[str, str]]) -> str:
    """What is different about a pipeline, in words; nothing if it is the same."""
    old, new = dict(before), dict(now)
    said: list[str] = []
    for place in dict.fromkeys([*old, *new]):
        was, is_now = old.get(place), new.get(place)
        if was is None:
            said.append(f"module {place}, {is_now}, is new")
        elif is_now is None:
            said.append(f"module {place} was {was}, and is gone")
        elif was != is_now:
            said.append(f"module {place} was {was}, and is {is_now}")
    return "; ".join(said[:3]) + (f"; and {len(said) - 3} more" if len(said) > 3 else "")


def _module(module: Module, inside: list[Blueprint]) -> str:
    given = [_shown(arg, inside) for arg in module.args]
    given += [f"{name}={_shown(value, inside)}" for name, value in module.options]
    label = "" if module.label is None else f".named({module.label!r})"
    return f"{module.name}({', '.join(given)}){label}"


def _shown(value: object, inside: list[Blueprint]) -> str:
    """What an argument looks like, the same in every process; blueprints in it are listed on their own."""
    if isinstance(value, Blueprint):
        inside.append(value)
        return "..."
    if isinstance(value, (list, tuple)):
        return f"({', '.join(_shown(part, inside) for part in cast('Sequence[object]', value)[:LONGEST])})"
    if isinstance(value, Mapping):
        pairs = cast("Mapping[Any, object]", value).items()
        return f"{{{', '.join(f'{_shown(key, inside)}: {_shown(part, inside)}' for key, part in pairs)}}}"
    if isinstance(value, AbstractSet):
        return f"{{{', '.join(sorted(_shown(part, inside) for part in cast('AbstractSet[object]', value)))}}}"
    one_shot = isinstance(value, OneShot)
    text = shown_callable(value) if callable(value) and not one_shot else repr(cast("object", value))
    text = _ADDRESS.sub("", text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
