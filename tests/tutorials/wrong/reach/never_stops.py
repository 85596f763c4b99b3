# wrong: bound
"""It also follows the links of pages it has seen, and goes in circles for ever."""

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
                new = list(dict.fromkeys(arrived.pop(time)))
                known.update(new)
                onward = dict.fromkeys(link for page in new for link in links[page])
                answers = [(page, time.counters[-1]) for page in new] + [ps.Again(link) for link in onward]
                if answers:
                    yield ps.Batch(time, answers)


def reach(links):
    """(page, steps), of all that can be reached."""
    return ps.loop(by_round(links))
