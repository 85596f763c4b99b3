"""11.1 How far is it?

`reach(links)` is breadth-first search. Its input is pages, each at a time. Its output is pairs (page, steps): for each
time, every page that can be reached from the pages of that time, once, with the fewest steps. `links[page]` are the
pages that a page links to, and there are circles of links. Each time is a separate question, and several may be open at
once.

In a loop a time has a counter, the round: `time.outer` is the time outside, `time.counters[-1]` the round. Values that
the body answers as `ps.Again(page)` enter again, in the next round; all others leave. A round is complete when nothing
can join it any more. No code decides when all is done: it is done when nothing goes round.
"""

import pullstream as ps


@ps.transformer
async def by_round(upstream, ctx, links):
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, pages):
                ctx.notify_at(time)
                answers = [(page, time.counters[-1]) for page in pages]
                yield ps.Batch(time, answers)  # and which pages can be reached from there?


def reach(links):
    return ps.loop(by_round(links))
