"""Tools for writing modules and adapters: everything this toolkit's own modules are made of.

To compose pipelines you need only `pullstream`. Most modules of your own need only `pullstream` too: they are decorated
async generators (`ps.source`, `ps.transformer`, `ps.sink`). Use this module for the rest: modules that are kernels,
that validate their options, that handle failures value by value, or that read and answer at the same time. Everything
in `adapters` is built with only `pullstream` and this module.

Test a module with `pullstream.conformance`, which also gives it multi-time batches, in order or not. Its `Subject`
lists what to declare for a module that keeps values back, or computes per time. For state under a journal, use
`pullstream.shake` with `journal=True`: it kills a pipeline and resumes it.

A module is one function. Its signature says which arguments it takes and how each is checked when the module is
composed. When a run starts, it calls the function and receives what the function `opens`: a kernel, a stage or, for a
sink, an async function.

>>> from typing import Annotated, Any
>>> import pullstream as ps
>>> from pullstream.authoring import PROMPT, OneOf, PerBatch, Positive, opens
>>> class _Every(PerBatch):
...     traits = PROMPT
...     def __init__(self, number, offset):
...         self.number, self.passed = number, -offset
...     def work(self, out, time, values):
...         start, self.passed = -self.passed % self.number, self.passed + len(values)
...         out += values[start :: self.number]
>>> @ps.transformer
... def every(number: Positive, *, begin: Annotated[str, OneOf("first", "last")] = "first") -> ps.Transformer[Any, Any]:
...     '''Emit every `number`-th value.'''
...     return opens(_Every(number, 0 if begin == "first" else number - 1))
>>> every(3, begin="last")
every(3, begin='last')
>>> ps.run(ps.pipe(ps.values(range(7)), every(3, begin="last"), ps.collect()))
[2, 5]
>>> every(0)  # doctest: +ELLIPSIS
Traceback (most recent call last):
    ...
pullstream.errors.CompositionError: every() at ... needs a whole number of at least 1 for its argument 'number'...

**Composing and opening**

`opens` returns the work to a run. `checked` and `together` check the arguments of any composing function; each
check receives a `Call`. `bound` only checks which arguments there are. Ready-made checks: `Count`, `Each`,
`Instance`, `OneOf`, `Sync`, `function`, `seconds`, `sources`, `duration`, `not_negative`, `READS`, `a_fold`, and
the annotated types `Key`, `Natural`, `Positive`, `Seconds`, `TimeOf`. `nearest`, `advice` and `some_of` make hints,
and `shortened` limits a text. `Site` is the line that composed a module, for messages. A blueprint consists of
`Module` and `OneShot` parts, for composing without a function; `present` shortens a function's signature in its help.
`publish` does so for all names of a package, and gives hints for missing ones. A module says when it `Emits`, so that
a run can warn of a pipeline that never gives a result.

**Failures, value by value**

The types `OnError`, `Handled` and `Skips` check an option `on_error` and add the module that handles `caught`
values; `catches` tells a kernel whether it must catch. `with_policy` does the same for a hand-made `Module`.
`blame`, `without_cancelled`, `chain`, `users_frames`, `is_between`, `shown` and `LOG` help with messages about
failures. `numbered` tells modules with the same name apart. `of_extra` imports a package of an extra, or says how to
install it.

**Kernels**

`Kernel` is the base class and enforces the rules. A kernel answers with a `ps.Batch` or, at the end, `ps.DONE`, whose
type is `Done`. A `Traits` value describes a kernel to the run; `PROMPT` is for kernels that answer at once. `Carries`
tells a journal what to save. Inherit more for more abilities: `Resumable` restores what an earlier run saved, `Outside`
checks whether the external data is unchanged, `Finishing` works at the end. A `Lane` is one task's end of an edge;
`State` is the state of an edge. A `PolledKernel` answers in one step if its inputs do, or says with an `Unanswered`
why not: `NOT_YET` or `WAIT`. A `Location` is the module's place in the sidecar; a `Hold` there is the right to answer
at a time. Each base class below has one purpose (a subclass with its own constructor must call the inherited one):

- `Stage` and `Kind`: one value in, one value out, fused with neighbouring stages; `StageMemory` saves its state
- `PerBatch` and `PassOn`: one batch in, one batch out, with a user's function or immediately
- `Expand`: streams one after another; `SideBySide`: several streams at the same time
- `Notified`, based on `Eventful`: batches and completions; `Gather` with `Part`: values kept per time
- `TaskKernel`: work in background tasks; `Passing`: passing values on while it waits
- `FanIn` with `Input`: several inputs; `Hub` with `Branch` and `Copies`: several outputs, placed by a `Wiring`,
  which receives the run's `Assembly`; a sink at run time is a `Consuming`
- `JoinByTime`, a `FanIn`: joins all values of a time when it is complete in two sources; its options are a `How`, a
  `Strategy` and a place, which `place_of_asof` checks
- `SideBranch`: diverts some of the values to a second sink; `LateOption`: the option `late=`, which adds one for
  values marked as `Late`
- `InlineRow`: modules made by `members_of`, called without edges, for one of many keys, each at its `Place`

`Committer` is the base class of sinks that make a time's values visible together when the time is complete, and
exactly once even if the program is killed.

`instalments` runs the modules of an `InstalmentPlan` over the data available so far, for hosts that store a
stream's state elsewhere. The runs form `Instalments`. Each `Instalment` gives the complete times, the values to
replay, and the saved state, its `Carryover`. An `Ahead` says, on a `TimeScale`, how far time must advance for more
results.

Any kernel may answer a multi-time batch, `ps.Batch.of(times, values)`. `upstream.ask` gives the values of one time
after another, `upstream.ask_many` the whole batch. `PassOn.answer` and `Notified.receive` get whole batches, too:
`PassOn.run_by_run` and `Notified.apart` take them apart by time. A kernel that fails in the middle of a multi-time
batch reports how far it got, with `upstream.ack_but`, `PassOn.fail` or `Notified.taken`.

**Parts of kernels**

`Backlog`: values waiting to be asked for, in order, and then an ending. `Batcher` and `stamped`:
cut an iterator into batches, each value at its time. `Accumulator`: folds values into tables. `Pace` and
`WaitingPace`: how many values to ask for. `Grip`: state that a handle and its kernel share. `Interrupts`: delays
Ctrl-C in code that must not be interrupted. `ascending`, `Ascending`: whether the times of an answer are in order,
and sequences known to be. `minimal`: the minimal times, which are held for the whole answer. `has_nan`: whether a
time contains NaN, which has no order. `start_in_thread`: calls a function in a thread of its own, which a simulation
controls. `lock`, `locked` and `close_locked`: a lock on a file, which forked children do not keep.
"""

from typing import TYPE_CHECKING

from pullstream.late import late

if TYPE_CHECKING:
    from pullstream.blueprint import (
        READS as READS,
        Call as Call,
        Count as Count,
        Each as Each,
        Emits as Emits,
        Instance as Instance,
        Key as Key,
        Module as Module,
        Natural as Natural,
        OneOf as OneOf,
        OneShot as OneShot,
        Positive as Positive,
        Seconds as Seconds,
        Site as Site,
        Sync as Sync,
        TimeOf as TimeOf,
        advice as advice,
        bound as bound,
        checked as checked,
        nearest as nearest,
        shortened as shortened,
        together as together,
    )
    from pullstream.blueprint.checks import function as function, seconds as seconds, sources as sources
    from pullstream.decorators import opens as opens
    from pullstream.engine.assembly import Assembly as Assembly, Consuming as Consuming, Wiring as Wiring
    from pullstream.engine.edge.backlog import Backlog as Backlog
    from pullstream.engine.edge.kernel import Kernel as Kernel
    from pullstream.engine.edge.lane import Lane as Lane
    from pullstream.engine.edge.polled import PolledKernel as PolledKernel
    from pullstream.engine.interfaces import Finishing as Finishing
    from pullstream.engine.nested.expand import Expand as Expand
    from pullstream.engine.nested.hub import Branch as Branch, Copies as Copies, Hub as Hub
    from pullstream.engine.nested.side_by_side import SideBySide as SideBySide
    from pullstream.engine.parts.context import Hold as Hold
    from pullstream.engine.parts.eventful import Eventful as Eventful
    from pullstream.engine.parts.fan_in import FanIn as FanIn, Input as Input
    from pullstream.engine.parts.fused import Kind as Kind, Stage as Stage, StageMemory as StageMemory
    from pullstream.engine.parts.notified import Notified as Notified
    from pullstream.engine.parts.pace import Pace as Pace, WaitingPace as WaitingPace
    from pullstream.engine.parts.pass_through import Passing as Passing
    from pullstream.engine.parts.per_batch import PassOn as PassOn, PerBatch as PerBatch
    from pullstream.engine.parts.tasks import TaskKernel as TaskKernel
    from pullstream.engine.runtime.interrupts import Interrupts as Interrupts
    from pullstream.engine.runtime.threads import start_in_thread as start_in_thread
    from pullstream.engine.sidecar.counters import numbered as numbered
    from pullstream.engine.sidecar.location import Location as Location
    from pullstream.engine.sidecar.order_advice import has_nan as has_nan
    from pullstream.engine.traits import PROMPT as PROMPT, Carries as Carries, Traits as Traits
    from pullstream.errors import blame as blame, of_extra as of_extra, without_cancelled as without_cancelled
    from pullstream.failures import caught as caught
    from pullstream.frames import (
        chain as chain,
        is_between as is_between,
        shown as shown,
        users_frames as users_frames,
    )
    from pullstream.late import publish as publish
    from pullstream.locks import close_locked as close_locked, lock as lock, locked as locked
    from pullstream.logger import LOG as LOG
    from pullstream.modules.combining.join_by_time import (
        How as How,
        JoinByTime as JoinByTime,
        Strategy as Strategy,
        place_of_asof as place_of_asof,
    )
    from pullstream.modules.folds.accumulator import Accumulator as Accumulator
    from pullstream.modules.folds.fold import a_fold as a_fold
    from pullstream.modules.grouping.groups import Gather as Gather, Part as Part
    from pullstream.modules.grouping.inline import InlineRow as InlineRow, Place as Place, members_of as members_of
    from pullstream.modules.handles.handle import Grip as Grip
    from pullstream.modules.sinks.committer import Committer as Committer
    from pullstream.modules.sources.batcher import Batcher as Batcher, stamped as stamped
    from pullstream.modules.values.on_error import (
        Handled as Handled,
        OnError as OnError,
        Skips as Skips,
        catches as catches,
        with_policy as with_policy,
    )
    from pullstream.modules.values.side_branch import (
        Late as Late,
        LateOption as LateOption,
        SideBranch as SideBranch,
    )
    from pullstream.modules.windows.grid import duration as duration, not_negative as not_negative
    from pullstream.protocol import (
        NOT_YET as NOT_YET,
        WAIT as WAIT,
        Done as Done,
        State as State,
        Unanswered as Unanswered,
    )
    from pullstream.resuming.ahead import Ahead as Ahead, TimeScale as TimeScale
    from pullstream.resuming.carryover import Carryover as Carryover
    from pullstream.resuming.instalment import Instalment as Instalment, InstalmentPlan as InstalmentPlan
    from pullstream.resuming.instalments import Instalments as Instalments, instalments as instalments
    from pullstream.resuming.interfaces import Outside as Outside, Resumable as Resumable
    from pullstream.signature import present as present
    from pullstream.slips import some_of as some_of
    from pullstream.timely.order import Ascending as Ascending, ascending as ascending, minimal as minimal
else:
    __getattr__, __dir__, __all__ = late(__name__, hints="pullstream.hints")
