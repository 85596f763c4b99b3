"""3.1 Rows of a table.

`rows(table)` is a source of the rows of a table. `with table:` opens and closes it. `table.read(n)` returns a list of
at most the next `n` rows, and an empty list at its end.

Open the table at the first ask, read what is asked for, and close the table once, in every ending: at the end of the
rows, when the consumer has enough, and after a failure.
"""

import pullstream as ps


@ps.source
class rows(ps.authoring.Kernel):
    def __init__(self, table):
        self.table = table

    async def produce(self, limit):
        values = self.table.read(limit)  # it must be open
        return ps.Batch(0, values) if values else ps.DONE
