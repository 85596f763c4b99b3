"""11.1 How far is it?

`reach(links)` is breadth-first search. In come pages, each at a time; out come pairs (page, steps), at that time: each
page that can be reached from those that came in at it, once, with the fewest steps. `links[page]` are the pages that a
page links to, and there are links in circles. Each time is a question of its own, and questions may be open side by
side.

In a loop a time has a counter, the round: `time.outer` is the time outside, `time.counters[-1]` the round. What the
body answers as `ps.Again(page)` comes in once more, in the next round; all else leaves. A round is complete when
nothing can join it any more; and nobody says when all is done: that is so when nothing goes round.
"""

import pullstream as ps


@ps.transformer
async def by_round(upstream, ctx, links):
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, pages):
                ctx.notify_at(time)
                answers = [(page, time.counters[-1]) for page in pages]
                yield ps.Batch(time, answers)  # and where does one get from there?


def reach(links):
    return ps.loop(by_round(links))
