"""The judge of `rows`: the rows, at any limit, and a table that is opened and closed once, in every ending."""

import pullstream as ps
from pullstream.conformance import Subject
from tutorials.exercises.solutions import rows as solution
from tutorials.judging import Wrong
from tutorials.judging.module import gives_the_same, keeps_the_rules

HINTS = {
    "": (
        "Read section 3.3: a kernel; section 3.2: the same as a generator.",
        "Where is the table opened, and when? Where is it closed?",
        "`acquire` for `self.table.__enter__()`, `release` for `__exit__`; or `with table:` in a generator.",
    ),
    "R10": (
        "Read section 3.12.",
        "How many ways are there to end? Close the table once in each, and do not open it before the first ask.",
        "Open only in `acquire`, and close only in `release`; there, end any task that you have started.",
    ),
    "R2": (
        "Read section 1.2.",
        "How many values did the ask request, and how many did you read, or answer?",
        "Read no more than that: `self.table.read(limit)` in `produce(limit)`, `table.read(ctx.limit)` in a generator.",
    ),
    "sharing": (
        "Read section 1.12.",
        "A batch belongs to its receiver. What do you do with its list afterwards?",
        "Make a new list for every answer.",
    ),
}


class Table:
    """A table of five rows, which must be open to be read."""

    def __init__(self, ledger=None):
        self.ledger, self.open, self.left = ledger, False, ["tea", "rice", "salt", "oil", "soap"]

    def __enter__(self):
        self.open = True
        return self.ledger.__enter__() if self.ledger else self

    def __exit__(self, *error):
        self.open = False
        if self.ledger:
            self.ledger.__exit__(*error)

    def read(self, number):
        """Return the next rows."""
        if not self.open:
            raise ValueError("the table is not open")
        values, self.left = self.left[:number], self.left[number:]
        return values


def judge(answer, seeds):
    """Judge an answer."""
    gives_the_same(lambda: answer["rows"](Table()), lambda: solution.rows(Table()), limits=(1,))
    subject = Subject("rows", lambda ledger: answer["rows"](Table(ledger)), resource=True)
    keeps_the_rules(subject, answer.site("rows"), seeds)
    gives_the_same(lambda: answer["rows"](Table()), lambda: solution.rows(Table()), limits=(2, 1000))
    table = Table()
    ps.run(ps.pipe(answer["rows"](table), ps.take(2), ps.collect()), limit=1)
    if len(table.left) < 3:
        raise Wrong("R2", f"two rows were asked for, one by one, and it read {5 - len(table.left)}")
