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
in an earlier run; skip the work of reading it. Without a journal, no time is done. A source that implements `Outside`
can identify its external data.

**For authors of sources and modules.** State that is kept beyond the completion of a time goes into `self.memory`
(`ctx.memory`), a versioned dict. Its `ledger` is for decisions that must be made once and kept, such as which file got
which time, and its `notes` are for facts that only the next run needs; see `Memory`.
"""
