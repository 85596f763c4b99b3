"""The door for authors of modules and adapters: all that the modules of this toolkit are made of.

Whoever composes programs needs `pullstream` alone, and most modules are a decorated async generator, for which it is
enough, too (`ps.source`, `ps.transformer`, `ps.sink`). What is here is for the rest: modules that are kernels, that
have options and refuse wrong ones by name, that deal with failures value by value, that read and answer at the same
time. Everything in `adapters` is made with `pullstream` and this, and nothing else.

A module is one function. Its signature says what it takes, and how each argument is checked when the module is
composed; a run calls it, and is given what it `opens`: a kernel, a stage or, of a sink, an async function.

>>> from typing import Annotated, Any
>>> import pullstream as ps
>>> from pullstream.authoring import PROMPT, OneOf, PassOn, Positive, opens
>>> class _Every(PassOn):
...     traits = PROMPT
...     def __init__(self, number, offset):
...         self.number, self.passed = number, -offset
...     def answer(self, batch):
...         start, self.passed = -self.passed % self.number, self.passed + len(batch.values)
...         chosen = batch.values[start :: self.number]
...         return ps.Batch(batch.time, chosen) if chosen else None
>>> @ps.transformer
... def every(number: Positive, *, begin: Annotated[str, OneOf("first", "last")] = "first") -> ps.Transformer[Any, Any]:
...     '''Give one of `number` values.'''
...     return opens(_Every(number, 0 if begin == "first" else number - 1))
>>> every(3, begin="last")
every(3, begin='last')
>>> ps.run(ps.pipe(ps.values(range(7)), every(3, begin="last"), ps.collect()))
[2, 5]
>>> every(0)  # doctest: +ELLIPSIS
Traceback (most recent call last):
    ...
pullstream.errors.CompositionError: every() at ... needs a whole number of at least 1 as its number, and got 0

Composing and opening
    `opens` says what a run is given. `checked` and `together` check the arguments of any function that composes; a
    check is called with a `Call`. Checks that are ready: `Count`, `Each`, `Instance`, `OneOf`, `Sync`, `function`,
    `seconds`, `sources`, `READS`, `a_fold`, and the types `Key`, `Natural`, `Positive`, `Seconds`, `TimeOf`, which have
    theirs in them; `nearest` and `advice` make hints. `Site` is the line that composed something, for messages.
    `Module` and `OneShot` are what a blueprint consists of, for whoever composes without a function.

Failures, value by value
    The types `OnError`, `Handled` and `Skips` of an option `on_error` check it, and bring the module that deals with
    what is `caught`; a kernel asks whether it `catches`. `with_policy` does the same for a `Module` made by hand.
    `blame`, `without_cancelled`, `chain`, `users_frames`, `is_between` and `LOG` are for messages about failures;
    `of_extra` imports what an extra installs, or says how it is installed.

Kernels
    `ps.Kernel` keeps the rules; a `Traits` value says what else the run must know, and `PROMPT` is that of what
    answers at once; `Carries` tells a journal what is kept. A class inherits more where it does more: `Resumable` takes
    up what an earlier run kept, `Outside` tells whether what is read is still the same, `Finishing` has something to
    bring to its end, `Stepwise` goes one step at a time. A `Lane` is one task's end of an edge; `State` is what an
    edge can be in. `Location` is the module's place in the sidecar, where it holds times. In front of a bare kernel
    stand those with one idea each, whose constructor a subclass with one of its own calls:

    - `Stage` and `Kind`: one value for one, fused with its neighbours; `StageMemory` saves what it keeps
    - `PerBatch` and `PassOn`: one batch for one, with a user's function or at once
    - `Expand`: streams one after another; `SideBySide` with `Inner`: at the same time
    - `Notified`, on `Eventful`: batches and completions; `Gather` with `Part`: what is kept of one time
    - `TaskKernel`: work that goes on in tasks of its own; `Passing`: something else while it waits
    - `FanIn` with `Input`: several inputs; `Hub` with `Branch` and `Copies`: several outputs, placed by a `Wiring`,
      which is given the run's `Assembly`; a sink at run time is something `Consuming`
    - `SideBranch`: some of the values go to a sink beside

    `instalments` runs the modules of an `InstalmentPlan` over what has come by now, for whoever keeps a stream's state
    elsewhere, and these runs are its `Instalments`: an `Instalment` says what is complete, which values are to come
    again, and what is kept beside, its `Carryover`. How far time has to go for more, on a `TimeScale`, an `Ahead`
    tells.

    An answer of many times, a `ps.TimedBatch`, may be answered by any of them, and is taken whole by who says so: by
    `upstream.ask_many`; in `PassOn.answer_many`, run by run unless that is overridden; with `Notified.takes_many`, in
    `Notified.receive_many`. All others are given the values of one time after another. Who fails in the middle says how
    far it has come, by `upstream.ack_but` or `Notified.taken`.

Parts of kernels
    `Outbox`, `Remainder`, `StreamEnd`: what is owed, in order, and then an ending. `Batcher` and `stamped`: an iterator
    cut into batches, each value at its time. `Accumulator`: folds into tables. `Pace`: how much to take at a time.
    `Grip`: what a handle and its kernel share. `Interrupts`: Ctrl-C during what must not be torn apart. `ascending`,
    `Ascending`: whether the times of an answer are in order, and those of which that is known; `minimal`, the
    least of them, which are held for all of it.
"""

from pullstream.blueprint import (
    READS,
    Call,
    Count,
    Each,
    Instance,
    Key,
    Module,
    Natural,
    OneOf,
    OneShot,
    Positive,
    Seconds,
    Site,
    Sync,
    TimeOf,
    advice,
    checked,
    nearest,
    together,
)
from pullstream.blueprint.checks import function, seconds, sources
from pullstream.decorators import opens
from pullstream.engine.assembly import Assembly, Consuming, Wiring
from pullstream.engine.edge.lane import Lane
from pullstream.engine.interfaces import Finishing, Outside, Resumable, Stepwise
from pullstream.engine.nested.carryover import Carryover
from pullstream.engine.nested.expand import Expand
from pullstream.engine.nested.hub import Branch, Copies, Hub
from pullstream.engine.nested.instalment import Instalment, InstalmentPlan
from pullstream.engine.nested.instalments import Instalments, instalments
from pullstream.engine.nested.on_error import Handled, OnError, Skips, catches, with_policy
from pullstream.engine.nested.side_branch import SideBranch
from pullstream.engine.nested.side_by_side import Inner, SideBySide
from pullstream.engine.parts.accumulator import Accumulator
from pullstream.engine.parts.batcher import Batcher, stamped
from pullstream.engine.parts.eventful import Eventful
from pullstream.engine.parts.fan_in import FanIn, Input
from pullstream.engine.parts.fold import a_fold
from pullstream.engine.parts.fused import Kind, Stage, StageMemory
from pullstream.engine.parts.groups import Gather, Part
from pullstream.engine.parts.handle import Grip
from pullstream.engine.parts.notified import Notified
from pullstream.engine.parts.outbox import Outbox, Remainder, StreamEnd
from pullstream.engine.parts.pace import Pace
from pullstream.engine.parts.pass_through import Passing
from pullstream.engine.parts.per_batch import PassOn, PerBatch
from pullstream.engine.parts.tasks import TaskKernel
from pullstream.engine.runtime.interrupts import Interrupts
from pullstream.engine.sidecar.ahead import Ahead, TimeScale
from pullstream.engine.sidecar.location import Location
from pullstream.engine.traits import PROMPT, Carries, Traits
from pullstream.errors import blame, of_extra, without_cancelled
from pullstream.failures import caught
from pullstream.frames import chain, is_between, users_frames
from pullstream.logger import LOG
from pullstream.protocol import State
from pullstream.timely.order import Ascending, ascending, minimal

__all__ = [
    "LOG",
    "PROMPT",
    "READS",
    "Accumulator",
    "Ahead",
    "Ascending",
    "Assembly",
    "Batcher",
    "Branch",
    "Call",
    "Carries",
    "Carryover",
    "Consuming",
    "Copies",
    "Count",
    "Each",
    "Eventful",
    "Expand",
    "FanIn",
    "Finishing",
    "Gather",
    "Grip",
    "Handled",
    "Hub",
    "Inner",
    "Input",
    "Instalment",
    "InstalmentPlan",
    "Instalments",
    "Instance",
    "Interrupts",
    "Key",
    "Kind",
    "Lane",
    "Location",
    "Module",
    "Natural",
    "Notified",
    "OnError",
    "OneOf",
    "OneShot",
    "Outbox",
    "Outside",
    "Pace",
    "Part",
    "PassOn",
    "Passing",
    "PerBatch",
    "Positive",
    "Remainder",
    "Resumable",
    "Seconds",
    "SideBranch",
    "SideBySide",
    "Site",
    "Skips",
    "Stage",
    "StageMemory",
    "State",
    "Stepwise",
    "StreamEnd",
    "Sync",
    "TaskKernel",
    "TimeOf",
    "TimeScale",
    "Traits",
    "Wiring",
    "a_fold",
    "advice",
    "ascending",
    "blame",
    "catches",
    "caught",
    "chain",
    "checked",
    "function",
    "instalments",
    "is_between",
    "minimal",
    "nearest",
    "of_extra",
    "opens",
    "seconds",
    "sources",
    "stamped",
    "together",
    "users_frames",
    "with_policy",
    "without_cancelled",
]
