"""Runs that survive being killed: `run(pipeline, journal=PATH)` continues where the last run with that journal stopped.

For every sink, the journal stores which times are complete at its output (including its effects). It also stores the
state that modules keep beyond a time, as of those times. The journal is one file (`log`); a record is added whenever
frontiers have moved.

**The rule.** A time is *done* when everything it can lead to, at every sink, is complete in the journal. Done times are
dropped in three places: where times begin (at sources, and at modules that assign times: `stamp`, `stamp_epochs`), at
the inputs of modules with a memory, and at the inputs of sinks. A source that ignores this rereads from the beginning,
and the kernel drops its done times. Everything else in the run is recomputed from whole times and need not be saved. A
sink may receive a time again that it had received in part, or whole just before the kill. Its effects must therefore
be idempotent by time.

**For authors of sources.** `self.location.done(time)` (in a generator, `ctx.done(time)`) says whether a time was done
in an earlier run; skip the work of reading it. Without a journal, no time is done. A source has three stores:

- `self.memory.ledger[key] = value` is for decisions that must be made once and kept (which file got which time). They
  are saved with the next record.
- `self.memory.at(time)[key] = value` is for state as of a time, such as an offset or a length. The next run gets the
  values as of the done times.
- `self.memory.notes.add(time, entry)` is for facts that only the next run needs. They do not occupy this run's memory.

A source that implements `Outside` can identify its external data. `identity()` returns a value (such as files with
their sizes); a run is refused if its journal was written with another value. `unchanged()` makes the checks that need
the ledger. It is called if all sinks downstream have finished, so the source is not read again. `for_now()` says that
the source's end only means "no more data now"; the modules downstream continue in the next run.

**For authors of modules.** State that is kept beyond the completion of a time goes into `self.memory` (`ctx.memory`), a
versioned dict; see `Memory`.
"""
