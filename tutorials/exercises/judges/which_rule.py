"""The judge of `which_rule`: the rule of each drawing; for a wrong one it says what its violation looks like."""

from pullstream.checker import RULES
from tutorials.exercises.solutions.which_rule import BROKEN
from tutorials.judging import Wrong

LOOKS = {
    "R1": "an answer would come before that of an earlier ask, or twice, or never",
    "R2": "an answer would hold no value, or more than asked for, or there would be no ask",
    "R3": "after done, or after a failure, something else would come",
    "R4": "the same lane would ask twice, with no answer in between",
    "R5": "abort or error would come first, and then a value as an answer",
    "R6": "an ending from below would not reach U, or change on the way, or be confirmed too early",
    "R7": "TO would answer done, although U has not, and U would not be notified",
    "R8": "TO would fail, or lose a value before it, without notifying U; or done would not confirm an ending",
    "R9": "D would ask or end once more than allowed",
    "R10": "a resource would be opened too soon, or not be closed; no edge shows that",
    "R11": "it would be about when a batch is acknowledged; no drawing of asks shows that",
    "R12": "a value would come at a complete time; here all values have the same time",
}

HINTS = {
    "": (
        "Section 1.13 has the rules; sections 1.1 to 1.10 show each of them kept.",
        "Who sent the last message: D, U, or the module between them? Was it asked for?",
        "1: a count. 6 and 8: an order. 7: a word. 2 and 5: a message after an end. 3 and 4: U is not notified.",
    ),
}


def judge(answer, seeds):
    """Judge an answer."""
    broken = answer["BROKEN"]
    for number, rule in BROKEN.items():
        said = str(broken.get(number, "R?")).upper() if isinstance(broken, dict) else "R?"
        if said == rule:
            continue
        if said not in RULES:
            raise Wrong("prediction", f"drawing {number}: which of R1 to R12 is broken? You say {said}")
        raise Wrong("prediction", f"drawing {number}: you say {said}, {RULES[said]}. Then {LOOKS[said]}")
