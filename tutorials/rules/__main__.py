"""`python -m tutorials.rules`: run the scenes of the rules and draw their cards."""

import argparse
from pathlib import Path

from pullstream.checker import RULES
from tutorials.rules.cards import CARDS

FOLDER = Path(__file__).parent

HEAD = """# The twelve rules, kept and broken

Each picture shows a real run. The left one keeps the rule; the right one breaks it, and the checker reported it.
Requesters (D) are on the left: asks go right, and answers come back. T is a module between a sink and a source (U).
`cards.py` has the runs, and `python -m tutorials.rules` draws them again.
"""


def cards() -> dict[str, str]:
    """Return the contents of all files by name: the page, and two drawings for each rule."""
    files: dict[str, str] = {}
    page = [HEAD]
    for rule, card in CARDS.items():
        page.append(f"## {rule}\n\n{RULES[rule][0].upper()}{RULES[rule][1:]}.\n\n| kept | broken |\n| --- | --- |")
        row: list[str] = []
        for how, scene in (("kept", card.kept), ("broken", card.broken)):
            title = f"{rule} {how}"
            drawn, found = scene.draw(title)
            assert found == (rule if how == "broken" else ""), f"{title}, and the checker says {found or 'nothing'}"
            files[f"{rule}-{how}.svg"] = drawn + "\n"
            row.append(f"![{title}]({rule}-{how}.svg)")
        page.append(f"| {' | '.join(row)} |\n")
    files["README.md"] = "\n".join(page)
    return files


def main() -> None:
    """Write the page and the drawings."""
    for name, content in cards().items():
        (FOLDER / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m tutorials.rules", description=__doc__).parse_args()
    main()
