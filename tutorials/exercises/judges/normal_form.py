"""The judge of `normal_form`: tries every word of up to eight letters."""

from itertools import product

from tutorials.exercises.solutions.normal_form import normal_form as solution
from tutorials.judging import Wrong

HINTS = {
    "": (
        "Read section 9.6.",
        "After one rule has been applied, the other may apply in a new place.",
        "While the word changes, replace `fe` by `e` and `ie` by nothing; or go letter by letter, looking back at e.",
    ),
}


def judge(answer, seeds):
    """Judge an answer."""
    normal_form = answer["normal_form"]
    for length in range(9):
        for letters in product("eif", repeat=length):
            word = "".join(letters)
            got, want = normal_form(word), solution(word)
            if got != want:
                raise Wrong("values", f"normal_form({word!r}) returned {got!r}; {_why(word, got, want)}")


def _why(word, got, want):
    if not isinstance(got, str):
        return "return a word"
    for rule, said in (("ie", "ie = 1"), ("fe", "fe = e")):
        if rule in got:
            return f"there {said} still applies; the result is {want!r}"
    return f"by ie = 1 and fe = e, {word!r} becomes {want!r}"
