r"""1.2 Write the requester of a drawing.

The table reads a row a second. Write what is said below it, so that this is drawn:

    D: ask1(Ans1 2) -> U: Ans1=value('tea')
    -> D: ask2(Ans2)                    -> U: Ans2=done
                    \-> D: abort3(Ans3)                 -> U: Ans3=done

The first ask is for two values, and has one. The second is outstanding, on a lane of its own, when the abort comes,
half a second after it.
"""

import trio


async def requester(reader):
    await reader.ask(2)
    await trio.sleep(0.5)
