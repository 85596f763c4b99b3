# wrong: values
"""It stops after three rounds, as if these were always enough."""

import pullstream as ps


@ps.transformer
async def by_round(upstream, ctx, links):
    """The pages of a round that are new, and their links once more."""
    seen = {}
    arrived = {}
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, pages):
                ctx.notify_at(time)
                arrived.setdefault(time, []).extend(pages)
            case ps.Completed(time):
                known = seen.setdefault(time.outer, set())
                new = [page for page in dict.fromkeys(arrived.pop(time)) if page not in known]
                known.update(new)
                onward = dict.fromkeys(
                    link for page in new for link in links[page] if link not in known and time.counters[-1] < 3
                )
                answers = [(page, time.counters[-1]) for page in new] + [ps.Again(link) for link in onward]
                if answers:
                    yield ps.Batch(time, answers)


def reach(links):
    """(page, steps), of all that can be reached."""
    return ps.loop(by_round(links))
