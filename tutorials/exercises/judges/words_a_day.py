"""The judge of `words_a_day`: a pipeline that gives one number per day, in every run."""

import pullstream as ps
from tutorials.judging import Wrong
from tutorials.judging.steps import first_difference, value_at

LINES = [(1, "tea and rice"), (1, "salt"), (2, "tea"), (3, ""), (4, ""), (4, "rice and rice"), (4, "soap")]
WANTED = [(1, 4), (2, 1), (4, 4)]

HINTS = {
    "": (
        "Read chapter 0 and README's first program, which does nearly the same.",
        "A line's day is its time. Per-time results come out when that time is complete.",
        "`ps.values(lines, time=...)`, `ps.flat_map` for words, `ps.reduce_by_time` with a counting fold of `ps.agg`.",
    ),
    "CompositionError": (
        "Read section 0.4.",
        "What does `pipe` return for these modules: a source, a transformer, a sink, or a pipeline? Only that runs.",
        "A pipeline begins with one source, `ps.values`, and ends with one sink, `ps.collect`.",
    ),
    "ReuseError": (
        "Read section 0.3.",
        "The first run used up something that the second one needs as well.",
        "Give `ps.values` the list itself, not an iterator or a generator made of it.",
    ),
    "early": (
        "Read section 0.5.",
        "A number was emitted while more of the day could come. Which modules emit at each value?",
        "`scan` and `map` emit at every value; `reduce_by_time` and `count_by_key` when a time is complete.",
    ),
}


def judge(answer, seeds):
    """Judge an answer."""
    pipeline = answer.returned("words_a_day", list(LINES))
    for nth in ("", "run again, "):
        result = ps.run(pipeline, check=True)
        if result == WANTED:
            continue
        at = value_at(first_difference(result, WANTED)) if isinstance(result, list) else None
        if isinstance(result, list) and _last(result) == WANTED and len(dict(result)) < len(result):
            told = f"for {LINES} it gave\n{result}\na day comes more than once; the first time is too early"
            raise Wrong("early", told, at=at)
        raise Wrong("values", f"{nth}for {LINES} it gave\n{result}\nand should have given\n{WANTED}", at=at)


def _last(result):
    try:
        return [(day, number) for day, number in dict(result).items() if number]
    except (TypeError, ValueError):
        return None
