# wrong: values
"""It keeps the path with the fewest steps, which is not always the least."""

from pullstream.timely import IDENTITY


def summarize(steps):
    known = {}
    agenda = [("outside", IDENTITY)]
    for place, path in agenda:
        for start, end, summary in sorted(steps, key=lambda step: step[:2]):
            if end == place and start not in known:
                known[start] = summary.followed_by(path)
                agenda += [(start, known[start])] if start != "outside" else []
    return {place: {path} for place, path in known.items()}
