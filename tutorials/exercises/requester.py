r"""1.2 Write the requester of a drawing.

The table reads a row a second. Write the requester below it that produces this drawing:

    D: ask1(Ans1 2) -> U: Ans1=value('tea')
    -> D: ask2(Ans2)                    -> U: Ans2=done
                    \-> D: abort3(Ans3)                 -> U: Ans3=done

The first ask is for two values, and receives one. The second is outstanding when the abort comes, half a second later.
"""

import trio


async def requester(reader):
    await reader.ask(2)
    await trio.sleep(0.5)
