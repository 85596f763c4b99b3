"""What is asked of `which_rule`: the rule of each drawing; a wrong one is answered by what it would look like."""

from pullstream.checker import RULES
from tutorials.exercises.solutions.which_rule import BROKEN
from tutorials.judging import Wrong

LOOKS = {
    "R1": "an answer would come before that of an earlier ask, or twice, or never",
    "R2": "an answer would hold no value, or more than asked for, or nobody would have asked",
    "R3": "after done, or after a failure, something else would come",
    "R4": "the same lane would ask twice, with no answer in between",
    "R5": "somebody would have said abort or error first, and then be given a value",
    "R6": "an ending from below would not reach U, or as another than it was, or be confirmed before it has",
    "R7": "TO would say done, where U has not said it, and nobody has told U",
    "R8": "TO would fail, or a value before it be lost, and U not be told; or an ending be confirmed with no done",
    "R9": "D would ask, or end, once more than it may",
    "R10": "something would be opened too soon, or not be closed; no edge shows that",
    "R11": "it would be about a batch that counts as dealt with; no drawing of asks shows that",
    "R12": "a value would come at a time that is complete; here all are at one",
}

HINTS = {
    "": (
        "Chapter 1, piece 13 has the rules; pieces 1 to 10 show each of them kept.",
        "Who has said the last thing? Was it asked for? Was it said by D, by U, or by the module between them?",
        "1 counts values; 2 and 5 come after an end; in 3 and 4 U knows nothing; 6 and 8 are about order; 7 a word.",
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
