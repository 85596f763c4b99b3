"""Runs that survive being killed: `run(pipeline, journal=PATH)` goes on where the last run with that journal was.

The journal holds, for every sink, what is complete at its output (its effects included), and what modules keep beyond
a time, as of then. It is one file (`log`), to which a record is added whenever frontiers have moved.

**The rule.** A time from which everything that can be reached at every sink is complete in the journal is *done*, and
is dropped where it appears: where times begin (at sources, and at what gives times of its own: `stamp`,
`stamp_epochs`), at the inputs of modules that have a memory, and at the sinks'. A source that does nothing about it
reads again from the beginning, and its old times are dropped by the kernel. What else is in the run is computed again,
from whole times, so it need not be saved; and a sink may be given a time that it had taken only a part of, or all of
a moment before the run was killed: its effects are idempotent by time.

**For authors of sources.** `self.location.done(time)` (in a generator `ctx.done(time)`) says whether a time is done, in
an earlier run: skip what it would take to read it. Nothing is done without a journal. What a source decided once and
must decide alike again, before anything of it may be recorded (which file got which time), goes into
`self.memory.ledger[key] = value`, which is saved with whatever is recorded next; what an offset or a length was as of a
time goes into `self.memory.at(time)[key] = value`, and is given back as of what is done; what only the next run will
want to know, and must not fill this one's memory, is written down with `self.memory.notes.add(time, entry)`.
A source that takes on `Outside` may return, by `identity()`, what tells one state of the outside from another (files
with their sizes): a run with a journal that was written over another one is refused; what it takes the ledger to tell,
`unchanged()` tells, which is asked where all sinks below have come to their end, so that the source is not read. A
source whose end means only that there is no more now says so by `for_now()`, and what is below it goes on in the next
run.

**For authors of modules.** What is kept beyond the completion of a time goes into `self.memory` (`ctx.memory`), a
dict with versions; see `Memory`.
"""
