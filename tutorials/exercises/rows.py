"""3.1 Rows of a table.

`rows(table)` is a source of the rows of a table: `with table:` opens and closes it, and `table.read(n)` gives a list of
the next `n` rows at most, and an empty list at its end.

It opens the table when it is first asked, reads what it is asked for, and closes the table once, in every ending: at
the end of the rows, when somebody below has enough, and when something fails.
"""

import pullstream as ps


@ps.source
class rows(ps.Kernel):
    def __init__(self, table):
        self.table = table

    async def produce(self, limit):
        values = self.table.read(limit)  # it must be open
        return ps.Batch(0, values) if values else ps.DONE
