"""One dict, of what has arrived, by time; the first steps to each page are kept by the time outside and the page."""

import pullstream as ps


@ps.transformer
async def by_round(upstream, ctx, links):
    steps = {}
    arrived = {}
    async for event in ctx.events(upstream):
        if isinstance(event, ps.Batch):
            if event.time not in arrived:
                ctx.notify_at(event.time)
                arrived[event.time] = set()
            arrived[event.time].update(event.values)
            continue
        time, outer = event.time, event.time.outer
        new = sorted(page for page in arrived.pop(time) if (outer, page) not in steps)
        for page in new:
            steps[outer, page] = time.counters[-1]
            yield ps.Batch(time, [(page, steps[outer, page])])
        onward = {link for page in new for link in links[page] if (outer, link) not in steps}
        if onward:
            yield ps.Batch(time, [ps.Again(link) for link in sorted(onward)])


def reach(links):
    return ps.loop(by_round(links))
