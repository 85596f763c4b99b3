"""A chapter as a page: prose, code, and the output of the code, which tests compare."""

import inspect
import re
from itertools import groupby
from typing import Final

from pullstream.checker import RULES
from tutorials.contents import CHAPTERS, Chapter
from tutorials.lesson import Part, code, introduction, number_of, parts_of, promised, tools, used
from tutorials.pictures import pictures_of

COMMAND: Final = re.compile(r":\s+`python -m pullstream learn read \d+`\.")


def page_of(chapter: Chapter, files: str) -> str:
    """Return the page of a chapter; `files` is the path to the pictures of the rules and the chapters."""
    parts = list(parts_of(chapter.module))
    if chapter.shown:
        parts = used([part for part in parts if part.piece and number_of(part.piece) in chapter.shown], parts)
    opening = COMMAND.sub(".", introduction(chapter.module).partition("\n")[2])  # `_about` already has it
    if chapter is not chapter.begins:
        opening = f"This chapter continues [{chapter.begins.title}]({chapter.name}.md), which has the introduction."
    texts = [f"# {chapter.number}. {chapter.title}", _about(chapter), _linked(opening.strip())]
    drawn: set[str] = set()
    for piece, group in groupby(parts, lambda part: part.piece):
        if piece is None:
            texts.append(_folded(list(group)))
            continue
        line, _, prose = inspect.cleandoc(piece.__doc__ or "").partition("\n")
        texts += [f"## {line.removesuffix('.')}", _linked(prose.strip())]
        texts += [_fenced("python", code(piece)), _fenced("text", "\n".join(promised(piece)), 'title="prints"')]
        shown = pictures_of(chapter.module, piece.__name__)
        texts += [f"![{each.title}]({files}/pictures/{each.file.name})\n\n*{each.title}.*" for each in shown]
        for rule in RULES:
            if rule not in drawn and re.search(rf"\b{rule}\b(?! to)", prose):
                drawn.add(rule)
                texts.append(_card(rule, f"{files}/rules"))
    return "\n\n".join([*texts, *_exercises(chapter)]) + "\n"


def _linked(prose: str) -> str:
    """Link the chapters and the literature that a text names."""
    first = {chapter.name: chapter for chapter in reversed(CHAPTERS)}

    def link(found: re.Match[str]) -> str:
        chapter = first.get(found[1])
        return found[0] if chapter is None else f"[{chapter.title}]({chapter.name}.md)"

    return re.sub(r"`(\w+)`", link, prose).replace("`tutorials/literature.md`", "[the literature](../literature.md)")


def _about(chapter: Chapter) -> str:
    needs = "".join(f", extra `{extra}`" for extra, _ in chapter.needs)
    return (
        f"*About {chapter.minutes} minutes{needs}. On a terminal: `python -m pullstream learn read {chapter.number}`.*"
    )


def _folded(parts: list[Part]) -> str:
    """Return a block with the code that the following pieces use, folded if it is imports only."""
    imports = all(part.source.startswith(("import ", "from ")) for part in parts)
    title = "Imports" if imports else "Code used below"
    block = _fenced("python", tools(parts))
    mark = "???" if imports else "???+"
    return f'{mark} note "{title}"\n\n' + "\n".join(f"    {line}".rstrip() for line in block.split("\n"))


def _fenced(language: str, block: str, more: str = "") -> str:
    return f"``` {{ .{language} {more}}}\n{block}\n```"


def _card(rule: str, cards: str) -> str:
    pictures = "".join(f"    ![{rule}, {how}]({cards}/{rule}-{how}.svg)\n" for how in ("kept", "broken"))
    return f'??? note "{rule}: {RULES[rule]}"\n\n{pictures}'


def _exercises(chapter: Chapter) -> list[str]:
    rows = [f"- **{exercise.number}** {exercise.title}" for exercise in chapter.exercises]
    if not rows:
        return []
    how = (
        "`python -m pullstream learn start` copies templates into a folder; `watch` checks a file whenever you save it."
    )
    return ["## Exercises", "\n".join(rows), how]
