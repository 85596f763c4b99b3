"""The query of the theory, of a graph whose outside is where things come from, and another place where they go."""

from pullstream.timely import theory


def summarize(steps):
    nodes = {(start, None if end == "outside" else end, summary) for start, end, summary in steps}
    return {start: found for (start, _), found in theory.summarize(nodes, set(), [None]).items() if start is not None}
