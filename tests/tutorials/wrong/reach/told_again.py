# wrong: values times
"""It emits a page for every link that leads to it, not just once."""

import pullstream as ps


@ps.transformer
async def by_round(upstream, ctx, links):
    seen = {}
    arrived = {}
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, pages):
                ctx.notify_at(time)
                arrived.setdefault(time, []).extend(pages)
            case ps.Completed(time):
                known = seen.setdefault(time.outer, set())
                pages = dict.fromkeys(arrived.pop(time))
                onward = dict.fromkeys(link for page in pages if page not in known for link in links[page])
                known.update(pages)
                yield ps.Batch(
                    time, [(page, time.counters[-1]) for page in pages] + [ps.Again(link) for link in onward]
                )


def reach(links):
    return ps.loop(by_round(links))
