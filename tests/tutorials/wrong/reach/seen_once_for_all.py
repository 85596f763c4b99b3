# wrong: times
"""It keeps the pages it has seen for the whole run, so that at another time none is new."""

import pullstream as ps


@ps.transformer
async def by_round(upstream, ctx, links):
    """The pages of a round that are new, and their links once more."""
    seen = set()
    arrived = {}
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, pages):
                ctx.notify_at(time)
                arrived.setdefault(time, []).extend(pages)
            case ps.Completed(time):
                known = seen
                new = [page for page in dict.fromkeys(arrived.pop(time)) if page not in known]
                known.update(new)
                onward = dict.fromkeys(link for page in new for link in links[page] if link not in known)
                answers = [(page, time.counters[-1]) for page in new] + [ps.Again(link) for link in onward]
                if answers:
                    yield ps.Batch(time, answers)


def reach(links):
    """(page, steps), of all that can be reached."""
    return ps.loop(by_round(links))
