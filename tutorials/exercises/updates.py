"""10.4 What the tracker is told.

A till, where sales are made; `next`, which hands what it is given on, at the following day; and a clerk.

    till ──> next ──> clerk

The tracker counts what is where, at which day. There are three places: "till", where the right to sell at a day is;
"next" and "clerk", where sales are that these have not dealt with yet. An update is (place, day, 1) when something is
there that was not, and (place, day, -1) when it is there no longer. The tracker has been told ("till", 0, 1): the till
may sell at day 0, and so at any later one. Then there are five moves:

    1. the till sells something at day 0, which goes to `next`, and closes that day: from now on it sells at day 1
    2. `next` has given this to the clerk
    3. the till sells something at day 1, and closes for good
    4. `next` has looked at this, and given nothing to the clerk
    5. the clerk is done with what he has

`MOVES` has a list of updates for each of them. The tracker looks after every single update, as where news of what
happened travels in pieces: what it takes for complete at `next` and at the clerk must be complete by what has happened.
"""

MOVES = [
    [("till", 0, -1), ("till", 1, 1), ("next", 0, 1)],
    [],
    [],
    [],
    [],
]
