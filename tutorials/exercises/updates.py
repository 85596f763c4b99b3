"""10.4 Updates for the tracker.

There are a till, which makes sales; `next`, which passes each sale on, at the following day; and a clerk.

    till ──> next ──> clerk

The tracker counts what is pending, where and at which day. It has three places: "till", for the right to sell at a day,
and "next" and "clerk", for sales that these have not processed yet. An update is (place, day, 1) for something new, and
(place, day, -1) for something that is gone. The tracker has already received ("till", 0, 1): the till may sell at day
0, and so at any later one. Then there are five moves:

    1. the till sells something at day 0, which goes to `next`, and closes that day: from now on it sells at day 1
    2. `next` passes this on to the clerk
    3. the till sells something at day 1, and closes for good
    4. `next` processes this, and passes nothing on to the clerk
    5. the clerk processes the sale

`MOVES` has a list of updates for each of them. The tracker evaluates after every single update, as it would if updates
travelled in parts: a day that it finds complete at `next` or at the clerk must really be complete by then.
"""

MOVES = [
    [("till", 0, -1), ("till", 1, 1), ("next", 0, 1)],
    [],
    [],
    [],
    [],
]
