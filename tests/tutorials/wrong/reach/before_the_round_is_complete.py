# wrong: early
"""It answers at each batch of a round, although a later page of the round may be nearer."""

import pullstream as ps


@ps.transformer
async def by_round(upstream, ctx, links):
    seen = {}
    async for batch in ctx.batches(upstream):
        known = seen.setdefault(batch.time.outer, set())
        new = [page for page in dict.fromkeys(batch.values) if page not in known]
        known.update(new)
        onward = dict.fromkeys(link for page in new for link in links[page] if link not in known)
        answers = [(page, batch.time.counters[-1]) for page in new] + [ps.Again(link) for link in onward]
        if answers:
            yield ps.Batch(batch.time, answers)


def reach(links):
    return ps.loop(by_round(links))
